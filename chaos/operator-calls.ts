// The calls of a producer besides add: cancel, revive, remove, reads and counts. Each call that changes a job is
// logged before and after. With a kill point in one of these verbs, that verb is called more often than the others.

import type { Queue, Storage } from 'holdfast'
import { type Child, noteError, sleep } from './child.ts'
import type { OperatorVerb } from './entries.ts'
import type { Log } from './log.ts'
import type { Order, Payload, Result } from './jobs.ts'
import { typeOf } from './jobs.ts'
import type { Random } from './random.ts'

/** Waiting jobs above which producers pause, so that recovery is measured and not the backlog. */
const highestBacklog = 30

type Verb = OperatorVerb | 'get' | 'list' | 'count'

export class OperatorCalls {
  readonly #storage: Storage
  readonly #queue: Queue<Payload, Result>
  readonly #log: Log
  readonly #random: Random
  readonly #wanted: Verb | undefined
  readonly #ids: Record<OperatorVerb, string[]> = { cancel: [], revive: [], remove: [] }
  readonly #calls: Record<Verb, () => Promise<unknown>>
  #due = 0

  constructor({ storage, log, random, point }: Child, queue: Queue<Payload, Result>) {
    this.#storage = storage
    this.#queue = queue
    this.#log = log
    this.#random = random
    this.#calls = {
      cancel: () => this.#cancel(),
      revive: () => this.#revive(),
      remove: () => this.#remove(),
      get: () => this.#queue.getStatus(this.#anyId()),
      list: () => this.#list(),
      count: () => this.#count(),
    }
    this.#wanted = point && point.step in this.#calls ? (point.step as Verb) : undefined
  }

  get hasBacklog(): boolean {
    return this.#due > highestBacklog
  }

  accepted({ id, payload: { kind } }: Order): void {
    if (kind === 'cancelled') this.#ids.cancel.push(id)
    if (kind === 'failing') this.#ids.revive.push(id)
    if (kind === 'request' && this.#random.next() < 0.2) this.#ids.remove.push(id)
  }

  async run(over: AbortSignal): Promise<void> {
    const verbs = Object.keys(this.#calls) as Verb[]
    for (let turn = 0; !over.aborted; turn++) {
      const isWanted = this.#wanted !== undefined && this.#random.next() < 0.6
      // A late cancel would find its job completed.
      const urgent = turn % 4 === 0 ? 'count' : this.#ids.cancel.length > 0 ? 'cancel' : undefined
      const verb = isWanted ? this.#wanted! : (urgent ?? this.#random.pick(verbs))
      await this.#calls[verb]().catch(noteError(this.#log))
      await sleep(this.#random.between(10, 80))
    }
  }

  async #cancel(): Promise<void> {
    const id = this.#ids.cancel.shift()
    if (id === undefined) return
    await this.#noting('cancel', id, async () => {
      const { status } = await this.#queue.cancel(id, { abort: this.#random.next() < 0.5 })
      return status
    })
  }

  /** Revives a failed or cancelled job. */
  async #revive(): Promise<void> {
    const id = this.#ids.revive.shift() ?? (this.#wanted === 'revive' ? 'unknown' : undefined)
    if (id === undefined) return
    await this.#noting('revive', id, async () => {
      const [answer] = await this.#storage.revive([{ type: typeOf('kept'), id }])
      return answer!.verdict
    })
  }

  async #remove(): Promise<void> {
    const id = this.#ids.remove.shift() ?? (this.#wanted === 'remove' ? 'unknown' : undefined)
    if (id === undefined) return
    await this.#noting('remove', id, async () => {
      const [answer] = await this.#storage.remove([{ type: typeOf('kept'), id }])
      return answer!.verdict
    })
  }

  /** A list without a filter only now and then: without an index it reads every record. */
  async #list(): Promise<void> {
    const types = this.#random.next() < 0.1 ? undefined : ['passing']
    await this.#storage.list({ of: 'jobs', types, limit: 20 })
  }

  async #count(): Promise<void> {
    const { types } = await this.#storage.count({ types: [typeOf('kept')] })
    this.#due = types[0]?.due ?? 0
  }

  async #noting(verb: OperatorVerb, id: string, call: () => Promise<string>): Promise<void> {
    this.#log.write({ what: 'calling', verb, id })
    this.#log.write({ what: 'called', verb, id, verdict: await call() })
  }

  #anyId(): string {
    return this.#ids.cancel[0] ?? this.#ids.revive[0] ?? this.#ids.remove[0] ?? 'unknown'
  }
}
