// Everything between the scripts of this driver and the client library: connections and how they come back, what the
// server must be able to do, errors that say whether a call may have happened, and the one subscription.
// Longer than others by a few lines: opening, calling and closing share what is open.

import { atMost } from '../../../clock.ts'
import { BorrowedLink } from './borrowed-link.ts'
import {
  addressOf,
  type Argument,
  type ClientClass,
  duplicateOf,
  duplicateOfAny,
  duplicateOfCluster,
  isCluster,
  keysOf,
  loadClient,
  newClient,
  type NodeClient,
  type RedisClient,
} from './client.ts'
import { deleteAll } from '../verbs/delete-all.ts'
import { DurableCalls, type Runnable } from './durable-calls.ts'
import { openError, redisError, replyCode, storageError } from './errors.ts'
import { type Link, type LinkOptions, OwnLink } from './link.ts'
import type { ResolvedRedisOptions } from '../redis-options.ts'
import { judge, judgeAll, type Judgement, readFacts, type ServerFacts } from './server.ts'
import { Subscriber } from './subscriber.ts'
import { sendingMs, type Watch } from './watch.ts'

export interface ConnectionOptions extends Pick<
  ResolvedRedisOptions,
  | 'client'
  | 'url'
  | 'host'
  | 'port'
  | 'durability'
  | 'replicas'
  | 'replicaTimeoutMs'
  | 'allowEviction'
  | 'callTimeoutMs'
  | 'clock'
> {
  /** A server that we would refuse to open is what we found at a reconnect. */
  readonly onFinding?: (message: string) => void
}

/** Between two looks at a server that loads its data, and for calls in flight when all is closed, in ms. */
const [loadingMs, closingMs] = [100, 500]

export class Connection {
  readonly #options: ConnectionOptions
  readonly #load: () => Promise<ClientClass>
  readonly #where: string
  readonly #subscriber: Subscriber
  #Client: ClientClass | undefined
  #commands: Link | undefined
  #waits: { readonly link: Link; readonly calls: DurableCalls } | undefined
  #judgement: Judgement | undefined
  #isClosed = false

  /** @param load the library that makes clients, where none is given */
  constructor(options: ConnectionOptions, load: () => Promise<ClientClass> = loadClient) {
    this.#options = options
    this.#load = load
    this.#where = whereOf(options)
    this.#subscriber = new Subscriber(options.clock, (link) => {
      return new OwnLink(() => this.#newNode(), { ...this.#linkOptions, ...link })
    })
  }

  /** Whether an acknowledged write survives a power cut. Read from the server at each connect; false if not readable. */
  get durable(): boolean {
    return this.#judgement?.durable ?? false
  }

  // ── life ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Rejects with a StorageError that says what to do. */
  async open(): Promise<void> {
    const { clock, callTimeoutMs } = this.#options
    const opening = this.#open()
    try {
      if (await atMost(clock, callTimeoutMs, opening)) return
      throw new Error(`the server is not ready after ${callTimeoutMs} ms`)
    } catch (error) {
      opening.catch(() => {})
      this.#stop()
      throw openError(this.#where, error)
    }
  }

  async #open(): Promise<void> {
    this.#isClosed = false
    const { client } = this.#options
    if (!client) this.#Client = await this.#load()
    if (this.#isClosed) return
    const options: LinkOptions = {
      ...this.#linkOptions,
      setUp: async (given, watch, isFirst) => {
        this.#judgement = await this.#inspect(given, watch, isFirst)
      },
      // What took this connection may have taken the listener's, which would not notice by itself.
      onDown: () => this.#subscriber.check(),
      onUp: () => this.#subscriber.check(),
    }
    this.#commands = client ? new BorrowedLink(client, options, false) : new OwnLink(() => this.#newNode(), options)
    if (client && isCluster(client)) client.on('-node', this.#onNodeGone)
    await this.#commands.start()
    if (this.#judgement?.wait) await this.#openWaits()
  }

  /** Never hangs. A client that was passed in stays open. */
  async close(): Promise<void> {
    const { clock } = this.#options
    this.#isClosed = true
    for (const link of [this.#commands, this.#waits?.link]) {
      if (link) await atMost(clock, closingMs, link.watch.quiet())
    }
    this.#stop()
  }

  #stop(): void {
    this.#isClosed = true
    this.#options.client?.removeListener('-node', this.#onNodeGone)
    this.#subscriber.close()
    this.#waits?.link.stop()
    this.#commands?.stop()
    this.#waits = undefined
    this.#commands = undefined
    this.#judgement = undefined
  }

  get #linkOptions(): Pick<LinkOptions, 'where' | 'clock'> {
    return { where: this.#where, clock: this.#options.clock }
  }

  /** Another connection of ours. */
  #newNode(): NodeClient {
    const { client, clock } = this.#options
    if (!client) return newClient(this.#Client!, this.#options)
    return isCluster(client) ? duplicateOfAny(client, clock.random()) : duplicateOf(client)
  }

  async #openWaits(): Promise<DurableCalls> {
    const { client, clock } = this.#options
    const options = { ...this.#linkOptions, setUp: async () => {}, onUp: () => {} }
    const link =
      client && isCluster(client)
        ? new BorrowedLink(duplicateOfCluster(client), options, true)
        : new OwnLink(() => this.#newNode(), options)
    const wait = (): Judgement['wait'] => this.#judgement?.wait
    const calls = new DurableCalls(clock, link, wait, (error) => this.#onError(error))
    this.#waits = { link, calls }
    try {
      await link.start()
    } catch (error) {
      // The next call tries again.
      link.stop()
      if (this.#waits?.link === link) this.#waits = undefined
      throw this.#failed(error)
    }
    return calls
  }

  /**
   * The connection to a node of the cluster was lost, or it left. What it had to tell may not have reached the node that is
   * listened to; and if it is that one, it may live on without the others.
   */
  readonly #onNodeGone = (): void => this.#subscriber.renew()

  // ── the server ─────────────────────────────────────────────────────────────────────────────────────────────────────

  async #inspect(client: RedisClient, watch: Watch, isFirst: boolean): Promise<Judgement> {
    const nodes = isCluster(client) ? client.nodes('master') : [client]
    const facts = await Promise.all(nodes.map((node) => this.#factsOf(node, watch)))
    // In a cluster a replica would send us on; alone it refuses every write.
    if (!isCluster(client) && facts[0]!.isReplica) throw new Error('it is a read-only replica: connect to its primary')
    const judgement = judgeAll(facts.map((one) => judge(one, this.#options)))
    if (judgement.refusal === undefined) return judgement
    if (isFirst) throw new Error(judgement.refusal)
    this.#options.onFinding?.(`Redis at ${this.#where}: ${judgement.refusal}`)
    return judgement
  }

  async #factsOf(node: RedisClient, watch: Watch): Promise<ServerFacts> {
    const { clock } = this.#options
    for (;;) {
      const facts = await readFacts((command, args) => watch.during(node.callBuffer(command, args)))
      if (!facts.isLoading) return facts
      await new Promise<void>((resolve) => void clock.after(loadingMs, resolve))
    }
  }

  // ── calls ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Runs a script on the slot of its one key. `durable`: answered when its writes are where the durability asks for.
   * Rejects with a StorageError, `transient` if the same call may go through in a moment.
   */
  async run(
    script: Runnable,
    key: string,
    args: readonly Argument[],
    options?: { readonly durable?: boolean },
  ): Promise<Buffer | null> {
    return asBytes(await this.#run(script, key, args, options?.durable))
  }

  /** As run, of a script that answers with a list. */
  async runForList(
    script: Runnable,
    key: string,
    args: readonly Argument[],
    options?: { readonly durable?: boolean },
  ): Promise<Buffer[]> {
    return (await this.#run(script, key, args, options?.durable)) as Buffer[]
  }

  async #run(script: Runnable, key: string, args: readonly Argument[], durable = false): Promise<unknown> {
    this.#subscriber.checkSometimes()
    if (durable && this.#judgement?.wait) {
      const calls = this.#waits?.calls ?? (await this.#openWaits())
      return calls.run(script, key, args)
    }
    try {
      return await this.#call('evalsha', script.sha, key, args)
    } catch (error) {
      if (replyCode(error) !== 'NOSCRIPT') throw this.#failed(error)
    }
    try {
      return await this.#call('eval', script.source, key, args)
    } catch (error) {
      throw this.#failed(error)
    }
  }

  async #call(command: string, script: string, key: string, args: readonly Argument[]): Promise<unknown> {
    const link = this.#opened()
    const client = link.client ?? (await link.connected())
    return link.watch.during(client.callBuffer(command, [script, ...keysOf(client, key), ...args]), sendingMs(args))
  }

  #opened(): Link {
    if (this.#commands) return this.#commands
    throw storageError('the connection to Redis is closed', { transient: false, maybeApplied: false })
  }

  #failed(error: unknown): unknown {
    this.#onError(error)
    return redisError(error)
  }

  /** A primary that was made a replica: whoever took its place is found by connecting again. */
  #onError(error: unknown): void {
    if (replyCode(error) !== 'READONLY' || (this.#options.client && isCluster(this.#options.client))) return
    this.#commands?.drop()
    this.#waits?.link.drop()
    this.#subscriber.renew()
  }

  /**
   * Messages of these channels from the moment it resolves. `onGap` after each reconnect, when listening again: some may
   * have been missed.
   */
  async listen(
    channels: readonly string[],
    onMessage: (channel: string, message: Buffer) => void,
    onGap: () => void,
  ): Promise<() => Promise<void>> {
    this.#opened()
    return this.#subscriber.listen({ channels, onMessage, onGap })
  }

  /** Deletes every key that begins so, on all primaries. */
  async deleteAll(start: string): Promise<void> {
    try {
      const link = this.#opened()
      const client = link.client ?? (await link.connected())
      for (const node of isCluster(client) ? client.nodes('master') : [client]) {
        await deleteAll(
          start,
          (command, args) => link.watch.during(node.callBuffer(command, args)),
          (command, args) => link.watch.during(client.callBuffer(command, args)),
        )
      }
    } catch (error) {
      throw this.#failed(error)
    }
  }
}

function asBytes(answer: unknown): Buffer | null {
  if (answer === null || answer === undefined || Buffer.isBuffer(answer)) return answer ?? null
  return Buffer.from(String(answer))
}

/** For messages, so without a password. */
function whereOf({ client, url, host, port }: ConnectionOptions): string {
  if (client) return addressOf(client) ?? (isCluster(client) ? 'the cluster' : 'the client')
  if (url === undefined) return `${host}:${port}`
  const { hostname, port: given } = new URL(url)
  return `${hostname}:${given || '6379'}`
}
