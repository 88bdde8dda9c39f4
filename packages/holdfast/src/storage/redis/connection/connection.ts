// Calls of the driver to its server: scripts, subscriptions and deletes, with errors that tell whether a call may have been
// applied. server-links.ts keeps the connections.

import type { Clock } from '../../../clock.ts'
import { type Argument, primariesOf } from './client.ts'
import { deleteKeys } from './delete-keys.ts'
import type { Runnable } from './durable-calls.ts'
import { redisError, replyCode } from './errors.ts'
import { keyArguments } from './keys.ts'
import { loadClient } from './load-client.ts'
import type { ClientClass } from './make-client.ts'
import { sendingMs } from './reply-monitor.ts'
import { factsOfAll, type ServerFacts } from './server-facts.ts'
import { type ConnectionOptions, ServerLinks } from './server-links.ts'

export interface CallOptions {
  /** Answer when the writes are as durable as `durability` asks for. @default false */
  readonly durable?: boolean
}

export class Connection {
  readonly #links: ServerLinks
  readonly #clock: Clock

  /** @param load imports the client library, if the options have no client */
  constructor(options: ConnectionOptions, load: () => Promise<ClientClass> = loadClient) {
    this.#links = new ServerLinks(options, load)
    this.#clock = options.clock
  }

  /** @throws StorageError that says why, and what to do */
  open(): Promise<void> {
    return this.#links.open()
  }

  /** Never hangs. A client that the user passed stays open. */
  close(): Promise<void> {
    return this.#links.close()
  }

  /** Whether an acknowledged write survives a power cut. Read from the server at each connect; false if it cannot be read. */
  get durable(): boolean {
    return this.#links.assessment?.durable ?? false
  }

  /**
   * Runs a script on the slot of its one key.
   * @throws StorageError, `transient` if the same call may succeed in a moment
   */
  async run(script: Runnable, key: string, args: readonly Argument[], options?: CallOptions): Promise<Buffer | null> {
    const answer = await this.#run(script, key, args, options?.durable)
    if (answer === null || answer === undefined || Buffer.isBuffer(answer)) return answer ?? null
    return Buffer.from(String(answer))
  }

  /** As run, for a script that answers with a list. */
  async runForList(script: Runnable, key: string, args: readonly Argument[], options?: CallOptions): Promise<Buffer[]> {
    return (await this.#run(script, key, args, options?.durable)) as Buffer[]
  }

  async #run(script: Runnable, key: string, args: readonly Argument[], durable = false): Promise<unknown> {
    this.#links.subscriber.checkIfDue()
    if (durable && this.#links.assessment?.wait) {
      const calls = await this.#links.durableCalls()
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
    const link = this.#links.commands()
    const client = link.client ?? (await link.connected())
    const reply = client.callBuffer(command, [script, ...keyArguments(client, key), ...args])
    return link.replies.expect(reply, sendingMs(args))
  }

  /** What the servers report about themselves now. */
  async facts(): Promise<ServerFacts[]> {
    try {
      const link = this.#links.commands()
      return await factsOfAll(link.client ?? (await link.connected()), link.replies, this.#clock)
    } catch (error) {
      throw this.#failed(error)
    }
  }

  #failed(error: unknown): unknown {
    this.#links.onError(error)
    return redisError(error)
  }

  /**
   * Delivers the messages of these channels from the moment it resolves. Calls `onGap` after each reconnect, once it listens
   * again: messages may have been missed.
   */
  async listen(
    channels: readonly string[],
    onMessage: (channel: string, message: Buffer) => void,
    onGap: () => void,
  ): Promise<() => Promise<void>> {
    // Throws if it is closed.
    this.#links.commands()
    return this.#links.subscriber.listen({ channels, onMessage, onGap })
  }

  /** Deletes every key with this prefix, on all primaries. */
  async deleteAll(prefix: string): Promise<void> {
    try {
      const link = this.#links.commands()
      const client = link.client ?? (await link.connected())
      for (const node of primariesOf(client)) {
        await deleteKeys(
          prefix,
          (command, args) => link.replies.expect(node.callBuffer(command, args)),
          (command, args) => link.replies.expect(client.callBuffer(command, args)),
        )
      }
    } catch (error) {
      throw this.#failed(error)
    }
  }
}
