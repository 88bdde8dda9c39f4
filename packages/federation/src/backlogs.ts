// The bound on what waits for one peer: of more than `policies.delivery.maxPerPeer` deliveries the oldest ones become dead letters without a
// body, and their jobs are removed. Counting costs, so a process looks after every so many deliveries to a peer, and upkeep once a minute.

import type { SendingContext } from './context.ts'
import { Limiter } from './inbound/limiter.ts'
import type { FederationDeliveryJob } from './jobs.ts'
import type { FederationQueue } from './queues.ts'

const batch = 1_000
/** Most peers whose deliveries are counted between two looks. */
const maxPeers = 10_000
/** Dead letters of this kind that are kept, per peer. */
const keptLetters = 1_000

type Context = Pick<SendingContext, 'store' | 'clock' | 'policies' | 'logger' | 'metrics' | 'emit'>

export class Backlogs {
  readonly #context: Context
  readonly #queue: FederationQueue<FederationDeliveryJob>
  /** Deliveries that this process made since it last looked, by peer. */
  readonly #made = new Map<string, number>()
  readonly #told: Limiter

  constructor(context: Context, queue: FederationQueue<FederationDeliveryJob>) {
    this.#context = context
    this.#queue = queue
    this.#told = new Limiter(context.clock, 1, 60_000)
  }

  /** After the commit of deliveries. */
  async added(jobs: readonly Pick<FederationDeliveryJob, 'serverUrl'>[]): Promise<void> {
    for (const { serverUrl } of jobs) {
      const made = (this.#made.get(serverUrl) ?? 0) + 1
      if (this.#made.size >= maxPeers) this.#made.clear()
      if (made < this.#every) this.#made.set(serverUrl, made)
      else {
        this.#made.delete(serverUrl)
        await this.trim(serverUrl)
      }
    }
  }

  /** Upkeep: looks at all peers. */
  async trimAll(): Promise<void> {
    const { store, policies } = this.#context
    for (const { serverUrl } of await store.deliveries.backlogs(policies.delivery.maxPerPeer, batch)) {
      await this.trim(serverUrl)
    }
  }

  /** Leaves room for what is made before the next look. */
  async trim(origin: string): Promise<void> {
    const { store, clock, policies, logger, metrics, emit } = this.#context
    const keep = Math.max(0, policies.delivery.maxPerPeer - this.#every)
    let count = 0
    for (;;) {
      const ids = await store.deliveries.drop(origin, keep, clock.now(), batch)
      count += ids.length
      if (ids.length > 0) await this.#queue.discard(ids)
      if (ids.length < batch) break
    }
    if (count === 0) return
    metrics.add('deliveries', 'dropped', count)
    await store.deliveries.forgetDropped(origin, keptLetters)
    if (this.#told.take(origin) !== undefined) return
    logger?.warn?.({ origin, count }, `federation: too many deliveries wait for ${origin}. The oldest ones ended.`)
    emit('backlog_dropped', { origin, count })
  }

  get #every(): number {
    return Math.max(1, Math.min(10, Math.floor(this.#context.policies.delivery.maxPerPeer / 10)))
  }
}
