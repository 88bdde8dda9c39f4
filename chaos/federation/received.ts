// What the receiver records on disk: its effects, the requests that arrived, and its answers.

import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** What the receiver has on disk, also while it does not run. */
export interface Received {
  /** One entry per effect. */
  readonly effects: readonly string[]
  /** Number of deliveries that arrived, repeats included. */
  readonly requests: number
  /** Hashes of the acknowledgements that it answered, each once. */
  readonly acks: ReadonlySet<string>
}

/** Files of the receiver. */
export const filesOf = (directory: string) => ({
  database: join(directory, 'receiver.db'),
  requests: join(directory, 'requests'),
  acks: join(directory, 'acks'),
})

/** Reads what the receiver has recorded. */
export function readReceived(directory: string): Received {
  const files = filesOf(directory)
  const database = new DatabaseSync(files.database, { timeout: 5_000 })
  try {
    const rows = database.prepare('SELECT activity FROM effects').all()
    const acks = readFileSync(files.acks, 'utf8').split('\n').filter(Boolean)
    return {
      effects: rows.map(({ activity }) => String(activity)),
      requests: statSync(files.requests).size,
      acks: new Set(acks),
    }
  } finally {
    database.close()
  }
}
