// The storage of one command: opened once, by --url or by the configuration, and closed at its end.

import type { Admin } from '../admin/admin.ts'
import { createAdmin } from '../admin/create-admin.ts'
import type { Storage } from '../storage/storage.ts'
import type { HoldfastConfig } from './config.ts'
import type { Host } from './host.ts'
import { loadConfig } from './load-config.ts'
import { forms, openStorage } from './open-storage.ts'
import { UsageError } from './usage-error.ts'

export interface SessionOptions {
  readonly url?: string
  readonly config?: string
  readonly schema?: string
  readonly prefix?: string
  readonly by?: string
}

export class Session {
  readonly #host: Host
  readonly #options: SessionOptions
  readonly #creates: boolean
  #config: Promise<HoldfastConfig | undefined> | undefined
  #storage: Promise<Storage> | undefined
  #admin: Promise<Admin> | undefined

  constructor(host: Host, options: SessionOptions, creates: boolean) {
    this.#host = host
    this.#options = options
    this.#creates = creates
  }

  config(): Promise<HoldfastConfig | undefined> {
    return (this.#config ??= loadConfig(this.#options.config, this.#host.cwd))
  }

  storage(): Promise<Storage> {
    return (this.#storage ??= this.#open())
  }

  admin(): Promise<Admin> {
    this.#admin ??= this.storage().then((storage) => {
      const by = this.#options.by ?? this.#host.user()
      return createAdmin({ storage, by, clock: this.#host.clock })
    })
    return this.#admin
  }

  /** Never rejects. */
  async close(): Promise<void> {
    const admin = await this.#admin?.catch(() => undefined)
    await admin?.close()
  }

  async #open(): Promise<Storage> {
    const { url, config, schema, prefix } = this.#options
    if (url !== undefined && config !== undefined)
      throw new UsageError('both --url and --config are given. Pass one of them.')
    const { cwd, env } = this.#host
    const wanted = url ?? (config === undefined ? env.HOLDFAST_URL || undefined : undefined)
    if (wanted !== undefined) return openStorage({ url: wanted, schema, prefix, cwd, creates: this.#creates })
    const found = await this.config()
    if (found && (schema !== undefined || prefix !== undefined))
      throw new UsageError('--schema and --prefix are for --url. The storage of the configuration has its own.')
    if (found) return found.storage
    throw new UsageError(
      `no storage is given. Pass --url (${forms}), set HOLDFAST_URL, or run it beside a holdfast.config.ts.`,
    )
  }
}
