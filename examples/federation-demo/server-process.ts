// A server of the demo as its parent controls it: a process with commands and events.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Request, Responses, ServerConfig, ServerEvent } from './messages.ts'

/** Called with every event of a server. */
export type OnEvent = (name: string, event: ServerEvent) => void

/** Options of a single start. */
type StartOptions = Pick<ServerConfig, 'otherKeys'>

interface Waiter {
  readonly matches: (event: ServerEvent) => boolean
  readonly resolve: (event: ServerEvent) => void
}

export class ServerProcess {
  readonly name: string
  readonly origin: string
  readonly #config: Omit<ServerConfig, keyof StartOptions>
  readonly #onEvent: OnEvent
  readonly #timeout: AbortSignal
  readonly #waiters = new Set<Waiter>()
  /** Events that no waiter has consumed yet. */
  readonly #events: ServerEvent[] = []
  #child: ChildProcess | undefined
  #requests = 0

  constructor(config: Omit<ServerConfig, keyof StartOptions>, onEvent: OnEvent, timeout: AbortSignal) {
    this.#config = config
    this.name = config.name
    this.origin = `http://127.0.0.1:${config.port}`
    this.#onEvent = onEvent
    this.#timeout = timeout
    mkdirSync(config.directory, { recursive: true })
  }

  /** Starts the process, on the files of an earlier start if there was one. Resolves when it listens. */
  async start(options: Partial<StartOptions> = {}): Promise<void> {
    const config: ServerConfig = { ...this.#config, otherKeys: false, ...options }
    const child = fork(fileURLToPath(new URL('server.ts', import.meta.url)), [JSON.stringify(config)], {
      execArgv: ['--conditions=@holdfast/source', '--no-warnings'],
      // The compile cache makes the second start faster.
      env: { ...process.env, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(config.directory, 'compiled') },
    })
    this.#child = child
    child.on('message', (event: ServerEvent) => this.#receive(event))
    await this.next('listening')
  }

  /** Kills the process with SIGKILL, which leaves it no chance to clean up. */
  async kill(): Promise<void> {
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }

  async stop(): Promise<void> {
    await this.request('stop')
    const exited = once(this.#child!, 'exit')
    this.#child!.disconnect()
    await exited
  }

  /** Returns the next event with this name and these fields, each event once. Rejects at the timeout. */
  next(name: string, fields: Readonly<Record<string, unknown>> = {}): Promise<ServerEvent> {
    const matches = (event: ServerEvent): boolean =>
      event.event === name && Object.entries(fields).every(([field, value]) => event[field] === value)
    const at = this.#events.findIndex(matches)
    if (at >= 0) return Promise.resolve(this.#events.splice(at, 1)[0]!)
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { matches, resolve }
      this.#waiters.add(waiter)
      const onTimeout = (): void =>
        reject(new Error(`${this.name}: no event "${name}" ${JSON.stringify(fields)} within the timeout`))
      this.#timeout.addEventListener('abort', onTimeout, { once: true })
      if (this.#timeout.aborted) onTimeout()
    })
  }

  /** Runs a command in the process and returns its answer. */
  async request<C extends keyof Responses>(command: C, ...args: readonly unknown[]): Promise<Responses[C]> {
    const request: Request = { number: ++this.#requests, command, args }
    this.#child!.send(request)
    const { answer, error } = await this.next('answer', { number: request.number })
    if (error !== undefined) throw new Error(`${this.name}: the command "${command}" failed: ${String(error)}`)
    return answer as Responses[C]
  }

  #receive(event: ServerEvent): void {
    this.#onEvent(this.name, event)
    const waiter = [...this.#waiters].find(({ matches }) => matches(event))
    if (!waiter) return void this.#events.push(event)
    this.#waiters.delete(waiter)
    waiter.resolve(event)
  }
}
