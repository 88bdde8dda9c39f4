// admin.audit: who changed what. Every write of an admin handle leaves an entry, in the key-value store of its storage, for 30 days.
// An entry that cannot be written does not fail the write that it is about.

import type { Clock } from '../clock.ts'
import type { GuardedStorage } from '../engine/guard.ts'
import { integer, text } from '../option-checks.ts'
import { resolveOptions, type Table } from '../resolve-options.ts'
import type { KvKey } from '../storage/kv.ts'

/** One write of an operator, or a request that was refused. */
export interface AuditEntry {
  /** Epoch ms, by the clock of the process that wrote it. */
  readonly at: number
  /** The operator. Absent: unknown. */
  readonly by?: string
  /** What was done, with figures: "retried 1 of 1 job ('mail-7')". */
  readonly what: string
  /** It was refused, and nothing was done. */
  readonly refused?: true
}

/** A page of audit.list(), the latest entries first. */
export interface AuditPage {
  /** The latest first. */
  readonly items: readonly AuditEntry[]
  /** Absent on the last page. */
  readonly nextCursor?: string
}

/** Which entries audit.list() returns. */
export interface AuditQuery {
  /** Integer 1 … 200. @default 50 */
  readonly limit?: number | undefined
  /** `nextCursor` of the page before. */
  readonly cursor?: string | undefined
}

/** The entries of all handles on the storage. */
export interface AdminAudit {
  /** Lists entries, the latest first. @throws INVALID_ARGUMENT, StorageError, CLOSED */
  list(query?: AuditQuery): Promise<AuditPage>
  /** Adds an entry, for a change that was made by other means, or was refused. Never rejects. */
  record(entry: {
    readonly what: string
    readonly by?: string | undefined
    readonly refused?: boolean | undefined
  }): Promise<void>
}

const auditQueryOptions = {
  limit: { default: 50, check: integer(1, 200) },
  cursor: { check: text(4_096) },
} as const satisfies Table

const root: KvKey = ['holdfast', 'audit']
const keptMs = 30 * 86_400_000
/** Longest text of an entry, in characters. */
const longest = 512
/** Instants are counted down from here, so that a list begins with the latest. */
const lastInstant = 9_999_999_999_999
/** Numbers of entries are counted down, too: those of one process and millisecond have the order in which they were made. */
const lastNumber = 999_999
let entries = 0

interface AuditLogOptions {
  /** Entries on their way: those of a handle and of all that were made of it by as(), which end with its connection. */
  readonly writes: Set<Promise<void>>
  readonly kv: Pick<GuardedStorage['kv'], 'set' | 'list'>
  readonly clock: Clock
  readonly by: string | undefined
  whenConnected<T>(call: () => Promise<T>): Promise<T>
}

export class AuditLog implements AdminAudit {
  readonly #options: AuditLogOptions

  constructor(options: AuditLogOptions) {
    this.#options = options
  }

  async list(query?: AuditQuery): Promise<AuditPage> {
    const { limit, cursor } = resolveOptions('audit.list', query, auditQueryOptions)
    const { kv, whenConnected } = this.#options
    const page = await whenConnected(() => kv.list(root, cursor === undefined ? { limit } : { limit, cursor }))
    const items = page.items.flatMap(({ value }) => {
      const entry = parse(value)
      return entry ? [entry] : []
    })
    return page.nextCursor === undefined ? { items } : { items, nextCursor: page.nextCursor }
  }

  record({ what, by = this.#options.by, refused }: Parameters<AdminAudit['record']>[0]): Promise<void> {
    const { kv, clock, writes, whenConnected } = this.#options
    const at = clock.now()
    const entry: AuditEntry = {
      at,
      ...(by !== undefined && { by: by.slice(0, longest) }),
      what: what.length > longest ? `${what.slice(0, longest - 1)}…` : what,
      ...(refused && { refused }),
    }
    const number = lastNumber - (entries++ % lastNumber)
    const [instant, place] = [String(lastInstant - at).padStart(13, '0'), String(number).padStart(6, '0')]
    const key = [...root, `${instant} ${place} ${clock.newId()}`]
    const write = whenConnected(() => kv.set(key, Buffer.from(JSON.stringify(entry)), { ttlMs: keptMs }))
      // The guard of the storage tells its failures.
      .catch(() => {})
      .finally(() => writes.delete(write))
    writes.add(write)
    return write
  }
}

/** Undefined for an entry that another version wrote in another form. */
function parse(bytes: Uint8Array): AuditEntry | undefined {
  try {
    const entry = JSON.parse(Buffer.from(bytes).toString()) as AuditEntry
    return typeof entry.at === 'number' && typeof entry.what === 'string' ? entry : undefined
  } catch {
    return undefined
  }
}
