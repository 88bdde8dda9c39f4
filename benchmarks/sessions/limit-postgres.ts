// The contender `limit` on Postgres.

import type { Contender } from '../contender.ts'
import { type Ahead, type BareQueue, limitSession } from './limit.ts'
import { postgresAt, postgresServer, postgresUnavailable } from './postgres.ts'

const schema = `
CREATE TABLE IF NOT EXISTS limit_jobs (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text NOT NULL UNIQUE, payload text NOT NULL,
  state smallint NOT NULL DEFAULT 0, lease_until timestamptz, result text, ended_at timestamptz);
CREATE INDEX IF NOT EXISTS limit_ready ON limit_jobs (seq) WHERE state = 0;
CREATE INDEX IF NOT EXISTS limit_leases ON limit_jobs (lease_until) WHERE state = 1;`

const insert = {
  name: 'insert',
  text: 'INSERT INTO limit_jobs (id, payload) SELECT * FROM unnest($1::text[], $2::text[])',
}

/** $1: seqs of ended jobs; $2: slots; $3: ms of the lease. */
const turn = {
  name: 'turn',
  text: `
WITH ended AS (
  UPDATE limit_jobs SET state = 2, lease_until = NULL, result = 'true', ended_at = now()
  WHERE seq = ANY ((SELECT $1::text)::bigint[]) AND state = 1),
next AS (SELECT seq FROM limit_jobs WHERE state = 0 ORDER BY seq LIMIT $2 FOR UPDATE SKIP LOCKED)
UPDATE limit_jobs AS j SET state = 1, lease_until = now() + $3 * interval '1 ms'
FROM next WHERE j.seq = next.seq RETURNING j.seq::text AS id, j.payload`,
}

export function limitOnPostgres(ahead: Ahead): Contender {
  return {
    name: ahead.name,
    driver: 'postgres',
    package: 'pg',
    isPeer: true,
    isLimit: true,
    cases: ahead.cases,
    isShared: true,
    durability: 'full',
    configuration: `pg, ${postgresServer}; one statement per insert, one per turn, prepared; two turns in flight, ${ahead.about}`,
    unavailable: postgresUnavailable,

    async setup(settings, place) {
      const { url } = await postgresAt(place, settings)
      const { default: pg } = await import('pg')
      const pool = new pg.Pool({ connectionString: url, max: 2 })
      pool.on('error', () => {}) // the server may stop first
      await pool.query(schema)
      const queue: BareQueue = {
        async insert(jobs) {
          await pool.query({ ...insert, values: [jobs.map(({ id }) => id), jobs.map(({ payload }) => payload)] })
        },
        turn: async (ended, slots) =>
          (await pool.query({ ...turn, values: [`{${ended.join()}}`, slots, settings.leaseMs] })).rows as {
            id: string
            payload: string
          }[],
        close: () => pool.end(),
      }
      return limitSession(queue, 2, ahead)
    },
  }
}
