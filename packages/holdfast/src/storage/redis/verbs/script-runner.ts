// Runs the script of a verb on the connection of a storage, under the storage's key prefix.

import type { List } from '../codec/fields.ts'
import { unpack } from '../codec/unpack.ts'
import type { Argument } from '../connection/client.ts'
import type { CallOptions, Connection } from '../connection/connection.ts'
import type { Scripts } from '../lua/scripts.ts'

type ScriptName = keyof Scripts

/** For writes that the storage's `durability` covers: the answer comes once they are durable. */
export const durable: CallOptions = { durable: true }

export class ScriptRunner {
  readonly #scripts: Scripts
  readonly #base: string
  readonly #connection: () => Connection

  /**
   * @param base what every key begins with
   * @param connection the one that is open; throws STORAGE_CLOSED
   */
  constructor(scripts: Scripts, base: string, connection: () => Connection) {
    this.#scripts = scripts
    this.#base = base
    this.#connection = connection
  }

  run(name: ScriptName, args: readonly Argument[], options?: CallOptions): Promise<Buffer | null> {
    return this.#connection().run(this.#scripts[name], this.#base, args, options)
  }

  /** Runs a script that answers with a list of strings. */
  runForList(name: ScriptName, args: readonly Argument[], options?: CallOptions): Promise<Buffer[]> {
    return this.#connection().runForList(this.#scripts[name], this.#base, args, options)
  }

  /** Runs a script that answers with a packed list, the server's time first. */
  async ask(name: ScriptName, args: readonly Argument[], options?: CallOptions): Promise<List> {
    return unpack((await this.run(name, args, options))!) as List
  }

  /** Deletes every key of this storage. */
  deleteAll(): Promise<void> {
    return this.#connection().deleteAll(this.#base)
  }
}
