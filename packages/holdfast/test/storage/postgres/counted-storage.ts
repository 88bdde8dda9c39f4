// A storage on a pool of its own that keeps the first words of all statements that it sends.

import { Pool } from 'pg'
import { PostgresStorage, type PostgresStorageOptions } from '../../../src/storage/postgres/index.ts'
import { newSchema, postgresPlace } from '../../postgres-subject.ts'

export interface CountedStorage {
  readonly storage: PostgresStorage
  readonly pool: Pool
  /** The first two words of every statement that its connections were sent. To be emptied by the test. */
  readonly sent: string[]
  /** The same of each transaction that was committed, from BEGIN to COMMIT: other connections may send at the same time. */
  readonly transactions: (readonly string[])[]
  /** How many statements the work sends. */
  count(work: () => Promise<unknown>): Promise<number>
  close(): Promise<void>
}

/** @param time SQL for the time of the storage in epoch ms. @default the server's clock */
export async function countedStorage(options: PostgresStorageOptions = {}, time?: string): Promise<CountedStorage> {
  const { server } = await postgresPlace()
  const pool = new Pool({ connectionString: server.url })
  pool.on('error', () => {}) // the server may stop first
  const sent: string[] = []
  const transactions: (readonly string[])[] = []
  pool.on('connect', (client) => {
    let open: string[] = []
    const query = client.query.bind(client) as (...args: unknown[]) => unknown
    client.query = ((...args: unknown[]) => {
      const text = typeof args[0] === 'string' ? args[0] : (args[0] as { text: string }).text
      const statements = text.split(';').map((statement) => statement.trim().split(/\s+/, 2).join(' '))
      sent.push(...statements)
      for (const statement of statements) {
        if (statement.startsWith('BEGIN')) open = []
        open.push(statement)
        if (statement === 'COMMIT') transactions.push([...open])
      }
      return query(...args)
    }) as typeof client.query
  })
  const storage = new PostgresStorage({ client: pool, schema: newSchema(), ...options }, time)
  await storage.connect()
  return {
    storage,
    pool,
    sent,
    transactions,
    async count(work) {
      sent.length = 0
      await work()
      return sent.length
    },
    async close() {
      await storage.disconnect()
      await pool.end()
    },
  }
}
