// One private server process: on 127.0.0.1 only, on a free port, in its own temporary directory, which is removed when it is
// stopped, or when this process ends (guard.ts). The caller says which kind of server it is.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, closeSync, mkdtempSync, openSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Guard } from './guard.ts'
import { freePort } from './port.ts'

/** Environment variable with the folder for the directories of servers. Not set: the folder for temporary files. */
export const folderVariable = 'HOLDFAST_SERVER_FOLDER'

export interface ServerKind {
  readonly name: string
  readonly binary: string
  args(port: number, directory: string): Promise<readonly string[]> | readonly string[]
  /** Whether the process with this pid, and not another one on its port, is ready. */
  answers(port: number, pid: number): Promise<boolean>
  /** Matches the log when a port was taken meanwhile. */
  readonly portTaken: RegExp
  /** Signal that asks the server to end. @default 'SIGTERM' */
  readonly endSignal?: NodeJS.Signals
  /** User that runs the server and owns its directory. @default the user of this process */
  readonly user?: ServerUser
}

export interface ServerUser {
  readonly uid: number
  readonly gid: number
}

export interface ServerExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

const portTries = 5
const startLimitMs = 15_000
const readyPollMs = 10
/** Ms between the signal that asks it to end and SIGKILL. */
const graceMs = 3000

/** The port, or another one that the server binds, is not free. */
export class PortTaken extends Error {}

export class ServerProcess {
  readonly #kind: ServerKind
  readonly #directory: string
  readonly #guard: Guard
  #port = 0
  #child: ChildProcess | undefined
  #exited: Promise<ServerExit> | undefined
  #stopped = false

  private constructor(kind: ServerKind) {
    this.#kind = kind
    this.#directory = mkdtempSync(join(process.env[folderVariable] ?? tmpdir(), `holdfast-${kind.name}-`))
    this.#guard = new Guard(this.#directory)
    if (kind.user) chownSync(this.#directory, kind.user.uid, kind.user.gid)
  }

  /** @param port the port to use; undefined: a free one */
  static async start(kind: ServerKind, port?: number): Promise<ServerProcess> {
    const server = new ServerProcess(kind)
    try {
      await server.#startOnSomePort(port)
    } catch (error) {
      await server.stop()
      throw error
    }
    return server
  }

  get port(): number {
    return this.#port
  }

  get directory(): string {
    return this.#directory
  }

  /** Pid of the latest start. */
  get pid(): number {
    return this.#child!.pid!
  }

  /** Exit of the latest start; a restart has a new one. */
  get exited(): Promise<ServerExit> {
    return this.#exited!
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** The log so far, over all starts. Empty after `stop`. */
  get log(): string {
    return this.#stopped ? '' : readFileSync(this.#logFile, 'utf8')
  }

  /** Does nothing if the process has ended. */
  kill(signal: NodeJS.Signals): void {
    if (this.running) this.#child!.kill(signal)
  }

  /** This process may exit while the server runs; the guard ends it then. */
  unref(): void {
    this.#child!.unref()
  }

  /** Restarts on the same port and directory; ends the running process first. */
  async restart(): Promise<void> {
    if (this.#stopped) throw new Error(`${this.#kind.name}: cannot start after stop. Its directory was removed.`)
    await this.#end()
    await this.#start(this.#port)
  }

  async stop(): Promise<void> {
    await this.#end()
    this.#stopped = true
    this.#guard.clear()
  }

  get #logFile(): string {
    return join(this.#directory, 'server.log')
  }

  async #startOnSomePort(port: number | undefined): Promise<void> {
    for (let left = portTries; ; left--) {
      try {
        await this.#start(port ?? (await freePort()))
        return
      } catch (error) {
        if (!(error instanceof PortTaken) || port !== undefined || left === 1) throw error
      }
    }
  }

  async #start(port: number): Promise<void> {
    const args = await this.#kind.args(port, this.#directory)
    // A file, not a pipe: nothing needs to read it, and the server never blocks on a full pipe.
    const log = openSync(this.#logFile, 'a')
    const logStart = this.log.length
    const child = spawn(this.#kind.binary, args, {
      cwd: this.#directory,
      stdio: ['ignore', log, log],
      ...this.#kind.user,
    })
    closeSync(log)
    this.#port = port
    this.#child = child
    this.#exited = once(child, 'exit').then(([code, signal]) => ({ code, signal }) as ServerExit)
    this.#exited.catch(() => {})
    await once(child, 'spawn')
    this.#guard.watch(child)
    await this.#untilItAnswers(logStart)
  }

  async #untilItAnswers(logStart: number): Promise<void> {
    const limit = Date.now() + startLimitMs
    while (!(await this.#kind.answers(this.#port, this.pid))) {
      const said = this.log.slice(logStart)
      if (!this.running) {
        if (this.#kind.portTaken.test(said)) throw new PortTaken(`${this.#kind.name}: port ${this.#port} is taken`)
        throw new Error(`${this.#kind.name}: ended while starting:\n${said}`)
      }
      if (Date.now() > limit) {
        await this.#end()
        throw new Error(`${this.#kind.name}: not ready within ${startLimitMs} ms:\n${said}`)
      }
      await sleep(readyPollMs)
    }
  }

  async #end(): Promise<void> {
    if (!this.running) return
    this.kill(this.#kind.endSignal ?? 'SIGTERM')
    // A process stopped by SIGSTOP receives no other signal before.
    this.kill('SIGCONT')
    const timer = setTimeout(() => this.kill('SIGKILL'), graceMs)
    await this.#exited
    clearTimeout(timer)
  }
}
