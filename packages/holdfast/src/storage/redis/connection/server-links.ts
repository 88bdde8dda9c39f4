// The connections of one storage, at most three: one for calls; one for durable calls, if the server needs a WAIT
// (durable-calls.ts); and one for messages, while there are listeners (subscriber.ts).

import { atMost } from '../../../clock.ts'
import type { ResolvedRedisOptions } from '../redis-options.ts'
import { BorrowedLink } from './borrowed-link.ts'
import { isCluster, type NodeClient, type RedisClient } from './client.ts'
import { DurableCalls } from './durable-calls.ts'
import { connectError, redisError, replyCode, ServerRefusedError, storageError } from './errors.ts'
import { layoutKey, layoutRefusal } from './layout.ts'
import type { Link, LinkOptions } from './link.ts'
import { type ClientClass, duplicateOf, duplicateOfAny, duplicateOfCluster, newClient } from './make-client.ts'
import { OwnLink } from './own-link.ts'
import type { ReplyMonitor } from './reply-monitor.ts'
import { factsOfAll } from './server-facts.ts'
import { type Assessment, assessAll } from './server-requirements.ts'
import { Subscriber } from './subscriber.ts'
import { whereOf } from './where.ts'

export interface ConnectionOptions extends Pick<
  ResolvedRedisOptions,
  | 'client'
  | 'url'
  | 'host'
  | 'port'
  | 'prefix'
  | 'durability'
  | 'replicas'
  | 'replicaTimeoutMs'
  | 'allowEviction'
  | 'callTimeoutMs'
  | 'clock'
> {
  /** Called after a reconnect to a server that open() would refuse. */
  readonly onFinding?: ((message: string) => void) | undefined
}

/** How long close() waits for calls in flight, in ms. */
const closingMs = 500

export class ServerLinks {
  readonly subscriber: Subscriber
  readonly #options: ConnectionOptions
  readonly #load: () => Promise<ClientClass>
  readonly #where: string
  #Client: ClientClass | undefined
  #commands: Link | undefined
  #durable: { readonly link: Link; readonly calls: DurableCalls } | undefined
  #assessment: Assessment | undefined
  #isClosed = false

  /** @param load imports the client library, if the options have no client */
  constructor(options: ConnectionOptions, load: () => Promise<ClientClass>) {
    this.#options = options
    this.#load = load
    this.#where = whereOf(options)
    this.subscriber = new Subscriber(options.clock, (link) => {
      // It exists while there are listeners, who wait for messages.
      return new OwnLink(() => this.#newNode(), { ...this.#linkOptions, ...link, keepsAlive: true })
    })
  }

  /** What the server gives, read at each connect. Undefined: not connected. */
  get assessment(): Assessment | undefined {
    return this.#assessment
  }

  /** The link for calls. @throws StorageError if it is closed */
  commands(): Link {
    if (this.#commands) return this.#commands
    const message = 'Redis: the connection is closed. The call was not sent.'
    throw storageError(message, { transient: false, maybeApplied: false })
  }

  /** @throws StorageError */
  async durableCalls(): Promise<DurableCalls> {
    return this.#durable?.calls ?? (await this.#openDurable())
  }

  /** @throws StorageError that says why, and what to do */
  async open(): Promise<void> {
    const { clock, callTimeoutMs } = this.#options
    const opening = this.#open()
    try {
      if (await atMost(clock, callTimeoutMs, opening)) return
      throw new Error(`the server is not ready after ${callTimeoutMs} ms`)
    } catch (error) {
      opening.catch(() => {})
      this.#stop()
      throw connectError(this.#where, error)
    }
  }

  async #open(): Promise<void> {
    this.#isClosed = false
    const { client } = this.#options
    if (!client) this.#Client = await this.#load()
    if (this.#isClosed) return
    const options: LinkOptions = {
      ...this.#linkOptions,
      setUp: async (connected, replies, isFirst) => {
        this.#assessment = await this.#checkServer(connected, replies, isFirst)
      },
      // The connection for messages may be lost for the same reason, and would not notice by itself.
      onDown: () => this.subscriber.check(),
      onUp: () => this.subscriber.check(),
    }
    this.#commands = client ? new BorrowedLink(client, options, false) : new OwnLink(() => this.#newNode(), options)
    if (client && isCluster(client)) client.on('-node', this.#onNodeLost)
    await this.#commands.start()
    if (this.#assessment?.wait) await this.#openDurable()
  }

  /** Never hangs. A client that the user passed stays open. */
  async close(): Promise<void> {
    const { clock } = this.#options
    this.#isClosed = true
    for (const link of [this.#commands, this.#durable?.link]) {
      if (link) await atMost(clock, closingMs, link.replies.idle())
    }
    this.#stop()
  }

  #stop(): void {
    this.#isClosed = true
    this.#options.client?.removeListener('-node', this.#onNodeLost)
    this.subscriber.close()
    this.#durable?.link.stop()
    this.#commands?.stop()
    this.#durable = undefined
    this.#commands = undefined
    this.#assessment = undefined
  }

  get #linkOptions(): Pick<LinkOptions, 'where' | 'clock'> {
    return { where: this.#where, clock: this.#options.clock }
  }

  /** A client of one server, which the driver closes. */
  #newNode(): NodeClient {
    const { client, clock } = this.#options
    if (!client) return newClient(this.#Client!, this.#options)
    return isCluster(client) ? duplicateOfAny(client, clock.random()) : duplicateOf(client)
  }

  async #openDurable(): Promise<DurableCalls> {
    const { client, clock } = this.#options
    const options = { ...this.#linkOptions, setUp: async () => {}, onUp: () => {} }
    const link =
      client && isCluster(client)
        ? new BorrowedLink(duplicateOfCluster(client), options, true)
        : new OwnLink(() => this.#newNode(), options)
    const wait = (): Assessment['wait'] => this.#assessment?.wait
    const calls = new DurableCalls(clock, link, wait, (error) => this.onError(error))
    this.#durable = { link, calls }
    try {
      await link.start()
    } catch (error) {
      // The next durable call tries again.
      link.stop()
      if (this.#durable?.link === link) this.#durable = undefined
      this.onError(error)
      throw redisError(error)
    }
    return calls
  }

  async #checkServer(client: RedisClient, replies: ReplyMonitor, isFirst: boolean): Promise<Assessment> {
    const facts = await factsOfAll(client, replies, this.#options.clock)
    // A replica of a cluster redirects calls. A replica of one server refuses every write.
    if (!isCluster(client) && facts[0]!.isReplica) {
      throw new ServerRefusedError('The server is a read-only replica. Connect to its primary.')
    }
    await this.#checkLayout(client, replies)
    const assessment = assessAll(facts, this.#options)
    if (assessment.refusal === undefined) return assessment
    if (isFirst) throw new ServerRefusedError(assessment.refusal)
    this.#options.onFinding?.(`Redis at ${this.#where}: ${assessment.refusal}`)
    return assessment
  }

  /** Also after a reconnect: a newer version may have changed the keys meanwhile. */
  async #checkLayout(client: RedisClient, replies: ReplyMonitor): Promise<void> {
    const { prefix } = this.#options
    const refusal = layoutRefusal(prefix, await replies.expect(client.callBuffer('get', [layoutKey(prefix)])))
    if (refusal !== undefined) throw new ServerRefusedError(refusal)
  }

  /**
   * A node left the cluster, or the connection to it was lost. Its messages may no longer reach the node that is subscribed
   * to; and if it is that node, it may live on without the others.
   */
  readonly #onNodeLost = (): void => this.subscriber.renew()

  /** Call it with every error of a call. After READONLY, a new connection leads to the new primary. */
  onError(error: unknown): void {
    if (replyCode(error) !== 'READONLY' || (this.#options.client && isCluster(this.#options.client))) return
    this.#commands?.drop()
    this.#durable?.link.drop()
    this.subscriber.renew()
  }
}
