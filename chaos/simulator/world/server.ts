// The storage of a run: the memory driver, as a server that many processes call. Each call is one step: it is applied, then its changes
// and answers are written to the history.

import { type Clock, MemoryStorage, type Storage } from 'holdfast'
import type { Signal, Topic, Unlisten } from 'holdfast/storage'
import { answersOf } from '../history/answers.ts'
import type { Entry } from '../history/entries.ts'
import { isChange, StorageLog } from '../history/storage-log.ts'
import type { Defect } from '../defects/defect.ts'
import { epoch } from './node.ts'
import type { Timeline } from './timeline.ts'

type Method = (...args: unknown[]) => Promise<unknown>

export class Server {
  readonly memory: MemoryStorage
  /** The memory driver, or one with a planted defect. */
  readonly #storage: Storage
  readonly #log: StorageLog
  readonly #record: (entry: Entry) => void
  readonly #timeline: Timeline
  isDown = false
  /** How far its clock is from the world's, in ms. */
  offsetMs = 0
  #moves = 0

  constructor(
    timeline: Timeline,
    clock: Clock,
    callTimeoutMs: number,
    record: (entry: Entry) => void,
    defect: Defect | undefined,
  ) {
    this.#timeline = timeline
    this.#record = record
    this.memory = new MemoryStorage({ callTimeoutMs, clock: { ...clock, now: () => this.now } })
    this.#storage = defect?.plant ? defect.plant(this.memory, () => this.now) : this.memory
    this.#log = new StorageLog(this.memory)
  }

  /** Storage time, as epoch ms. */
  get now(): number {
    return Math.floor(epoch + this.#timeline.now + this.offsetMs)
  }

  async call(node: string, verb: string, args: readonly unknown[]): Promise<unknown> {
    const [target, name] = verb.startsWith('kv.') ? [this.#storage.kv, verb.slice(3)] : [this.#storage, verb]
    const [t, at] = [this.#timeline.now, this.now]
    const move = ++this.#moves
    const call = (target as unknown as Record<string, Method>)[name]!
    const answer = await call.call(target, ...args)
    const changes = isChange(verb) ? await this.#log.changes(verb, args, answer, at) : []
    for (const change of changes) this.#record({ t, node, move, at, verb, ...change } as Entry)
    for (const told of answersOf(verb, args, answer)) this.#record({ t, node, move, at, verb, ...told } as Entry)
    return answer
  }

  listen(topics: readonly Topic[], onSignal: (signal: Signal) => void): Promise<Unlisten> {
    return this.#storage.listen(topics, onSignal)
  }
}
