// A server of the demo as its parent sees it: a process that is started, asked, waited for and killed.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Answers, Asked, ServerConfig, Told } from './messages.ts'

/** Told of every event, also of those that nobody waits for. */
export type Watch = (name: string, told: Told) => void

/** What differs from start to start. */
type Manner = Pick<ServerConfig, 'otherKeys' | 'inboxLater'>

interface Waiter {
  readonly fits: (told: Told) => boolean
  readonly found: (told: Told) => void
}

export class Party {
  readonly name: string
  readonly origin: string
  readonly #config: Omit<ServerConfig, keyof Manner>
  readonly #watch: Watch
  readonly #patience: AbortSignal
  readonly #waiters = new Set<Waiter>()
  /** Events that were not waited for yet. */
  readonly #heard: Told[] = []
  #child: ChildProcess | undefined
  #asked = 0

  constructor(config: Omit<ServerConfig, keyof Manner>, watch: Watch, patience: AbortSignal) {
    this.#config = config
    this.name = config.name
    this.origin = `http://127.0.0.1:${config.port}`
    this.#watch = watch
    this.#patience = patience
    mkdirSync(config.directory, { recursive: true })
  }

  /** On its files, if it was there before. */
  async start(manner: Partial<Manner> = {}): Promise<void> {
    const config: ServerConfig = { ...this.#config, otherKeys: false, inboxLater: false, ...manner }
    const child = fork(fileURLToPath(new URL('server.ts', import.meta.url)), [JSON.stringify(config)], {
      execArgv: ['--conditions=@holdfast/source', '--no-warnings'],
      // Its second start takes less time than its first.
      env: { ...process.env, NODE_COMPILE_CACHE: join(config.directory, 'compiled') },
    })
    this.#child = child
    child.on('message', (told: Told) => this.#hear(told))
    await this.heard('listening')
  }

  /** With -9: it has no chance to put anything in order. */
  async kill(): Promise<void> {
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }

  async stop(): Promise<void> {
    await this.ask('stop')
    const gone = once(this.#child!, 'exit')
    this.#child!.disconnect()
    await gone
  }

  /** The first event of this name that fits, each counted once; or, if patience ends, an error that says what did not come. */
  heard(event: string, about: Readonly<Record<string, unknown>> = {}): Promise<Told> {
    const fits = (told: Told): boolean =>
      told.event === event && Object.entries(about).every(([field, value]) => told[field] === value)
    const at = this.#heard.findIndex(fits)
    if (at >= 0) return Promise.resolve(this.#heard.splice(at, 1)[0]!)
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { fits, found: resolve }
      this.#waiters.add(waiter)
      const give = (): void => reject(new Error(`${this.name} did not come to: ${event} ${JSON.stringify(about)}`))
      this.#patience.addEventListener('abort', give, { once: true })
      if (this.#patience.aborted) give()
    })
  }

  async ask<Q extends keyof Answers>(question: Q, ...args: readonly unknown[]): Promise<Answers[Q]> {
    const asked: Asked = { number: ++this.#asked, question, args }
    this.#child!.send(asked)
    const { answer, error } = await this.heard('answer', { number: asked.number })
    if (error !== undefined) throw new Error(`${this.name} could not ${question}: ${String(error)}`)
    return answer as Answers[Q]
  }

  #hear(told: Told): void {
    this.#watch(this.name, told)
    const waiter = [...this.#waiters].find(({ fits }) => fits(told))
    if (!waiter) return void this.#heard.push(told)
    this.#waiters.delete(waiter)
    waiter.found(told)
  }
}
