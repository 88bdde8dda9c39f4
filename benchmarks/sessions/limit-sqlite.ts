// The contender `limit` on SQLite, by durability.

import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Contender, Durability } from '../contender.ts'
import { type Ahead, type BareJob, bySlots, limitSession } from './limit.ts'

const schema = `
CREATE TABLE IF NOT EXISTS jobs (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, payload TEXT NOT NULL, state INTEGER NOT NULL DEFAULT 0,
  lease_until REAL, result TEXT, ended_at REAL) STRICT;
CREATE INDEX IF NOT EXISTS ready ON jobs (seq) WHERE state = 0;
CREATE INDEX IF NOT EXISTS leases ON jobs (lease_until) WHERE state = 1;`

const insert = `INSERT INTO jobs (id, payload) SELECT value ->> 'id', value ->> 'payload' FROM json_each(?)`
const end = `
UPDATE jobs SET state = 2, lease_until = NULL, result = 'true', ended_at = ?
WHERE seq IN (SELECT value FROM json_each(?)) AND state = 1`
const lease = `
UPDATE jobs SET state = 1, lease_until = ? WHERE seq IN (SELECT seq FROM jobs WHERE state = 0 ORDER BY seq LIMIT ?)
RETURNING CAST(seq AS TEXT) AS id, payload`

export function limitOnSqlite(durability: Durability, ahead: Ahead): Contender {
  const synchronous = durability === 'full' ? 'FULL' : 'NORMAL'
  return {
    name: durability === 'full' ? ahead.name : `${ahead.name} relaxed`,
    driver: 'sqlite',
    package: 'node',
    isPeer: true,
    isLimit: true,
    cases: ahead.cases,
    isShared: true,
    durability,
    configuration: `node:sqlite, WAL, synchronous ${synchronous}; one transaction per insert, one per turn, ${ahead === bySlots ? 'with all slots' : ahead.about}`,

    async setup({ leaseMs }, place) {
      const database = new DatabaseSync(join(place, 'jobs.db'), { timeout: 5_000 })
      database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}; ${schema}`)
      const [inserting, ending, leasing, begin, commit] = [insert, end, lease, 'BEGIN IMMEDIATE', 'COMMIT'].map(
        (text) => database.prepare(text),
      )
      return limitSession(
        {
          async insert(jobs) {
            inserting!.run(JSON.stringify(jobs))
          },
          async turn(ended, slots) {
            // Others of this process must have their turn: every call is synchronous.
            await new Promise<void>((resolve) => setImmediate(resolve))
            begin!.run()
            if (ended.length > 0) ending!.run(Date.now(), `[${ended.join()}]`)
            const jobs = leasing!.all(Date.now() + leaseMs, slots) as unknown as BareJob[]
            commit!.run()
            return jobs
          },
          close: async () => database.close(),
        },
        1,
        ahead,
      )
    },
  }
}
