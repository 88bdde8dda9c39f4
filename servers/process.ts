// One private server process: on 127.0.0.1 alone, on a free port, in a temporary directory of its own, and gone when it is
// stopped (or when we are: guard.ts). What kind of server it is, the caller says.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, closeSync, mkdtempSync, openSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Guard } from './guard.ts'
import { freePort } from './port.ts'

export interface ServerKind {
  readonly name: string
  readonly binary: string
  args(port: number, directory: string): Promise<readonly string[]> | readonly string[]
  /** Whether the process with this pid, and not another one on its port, serves by now. */
  answers(port: number, pid: number): Promise<boolean>
  /** What its log says when a port was taken meanwhile. */
  readonly portTaken: RegExp
  /** Asks it to end, soon. @default 'SIGTERM' */
  readonly endSignal?: NodeJS.Signals
  /** Whom it runs as, and who owns its directory. @default us */
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
const askAgainMs = 10
/** From the signal that asks it to end, to SIGKILL. */
const graceMs = 3000

/** The port, or another one that the server was told to bind, is not free. */
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
    this.#directory = mkdtempSync(join(tmpdir(), `holdfast-${kind.name}-`))
    this.#guard = new Guard(this.#directory)
    if (kind.user) chownSync(this.#directory, kind.user.uid, kind.user.gid)
  }

  /** @param port when it must be this one; else a free one is found */
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

  /** Of the latest start. */
  get pid(): number {
    return this.#child!.pid!
  }

  /** Of the latest start: a restart has a new one. */
  get exited(): Promise<ServerExit> {
    return this.#exited!
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** What it has said so far, over all starts. Empty once it is stopped. */
  get log(): string {
    return this.#stopped ? '' : readFileSync(this.#logFile, 'utf8')
  }

  /** Does nothing to one that is gone. */
  kill(signal: NodeJS.Signals): void {
    if (this.running) this.#child!.kill(signal)
  }

  /** On the same port and directory; one that still runs is ended first. */
  async restart(): Promise<void> {
    if (this.#stopped) throw new Error(`${this.#kind.name}: stopped, its directory is gone`)
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
    // A file, not a pipe: it costs us no reading, and a server never waits for us to read.
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
        throw new Error(`${this.#kind.name} ended at its start:\n${said}`)
      }
      if (Date.now() > limit) {
        await this.#end()
        throw new Error(`${this.#kind.name} did not answer within ${startLimitMs} ms:\n${said}`)
      }
      await sleep(askAgainMs)
    }
  }

  async #end(): Promise<void> {
    if (!this.running) return
    this.kill(this.#kind.endSignal ?? 'SIGTERM')
    // One that was stopped by SIGSTOP hears nothing before.
    this.kill('SIGCONT')
    const timer = setTimeout(() => this.kill('SIGKILL'), graceMs)
    await this.#exited
    clearTimeout(timer)
  }
}
