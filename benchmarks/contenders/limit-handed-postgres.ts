import { randomUUID } from 'node:crypto'
import type { Contender } from '../contender.ts'
import { handedCases, type HandingQueue, handedSession, jobsOf, type LeasedJob } from '../sessions/limit-handed.ts'
import { postgresAt, postgresServer, postgresUnavailable } from '../sessions/postgres.ts'

/** Offers are a row per lane of a worker: an insert passes over one that another transaction changes. They are updated in place (HOT). */
const schema = `
CREATE TABLE IF NOT EXISTS limit_jobs (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text NOT NULL UNIQUE, payload text NOT NULL,
  state smallint NOT NULL DEFAULT 0, lease_until timestamptz, result text, ended_at timestamptz);
CREATE INDEX IF NOT EXISTS limit_ready ON limit_jobs (seq) WHERE state = 0;
CREATE INDEX IF NOT EXISTS limit_leases ON limit_jobs (lease_until) WHERE state = 1;
CREATE TABLE IF NOT EXISTS limit_offers (channel text NOT NULL, lane int NOT NULL, slots int NOT NULL) WITH (fillfactor = 10);`

/** The channel of all workers: jobs wait that were not handed over. */
const anyWorker = 'limit_workers'

/**
 * $1: ids, $2: payloads, $3: ms of a lease. A message is JSON, keys and payloads in turn, for 40 jobs at most: its length is bounded by 8,000
 * bytes. If jobs wait, every worker looks: one that makes its offer at this moment sees neither these jobs nor this transaction its offer.
 */
const insert = {
  name: 'insert-handed',
  text: `
WITH offer AS MATERIALIZED (SELECT channel, lane, slots FROM limit_offers WHERE slots > 0 LIMIT 1 FOR UPDATE SKIP LOCKED),
taken AS (
  UPDATE limit_offers AS o SET slots = o.slots - least(o.slots, cardinality($1::text[]))
  FROM offer WHERE o.channel = offer.channel AND o.lane = offer.lane),
added AS (
  INSERT INTO limit_jobs (id, payload, state, lease_until)
  SELECT id, payload, CASE WHEN n <= offer.slots THEN 1 ELSE 0 END, CASE WHEN n <= offer.slots THEN now() + $3 * interval '1 ms' END
  FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS given (id, payload, n) LEFT JOIN offer ON true
  RETURNING seq, payload, state)
SELECT count(pg_notify(CASE state WHEN 1 THEN (SELECT channel FROM offer) ELSE '${anyWorker}' END, message))
FROM (
  SELECT state, CASE state WHEN 1 THEN '[' || string_agg('"' || seq || '",' || payload, ',') || ']' ELSE '' END AS message
  FROM (SELECT seq, payload, state, CASE state WHEN 1 THEN (row_number() OVER () - 1) / 40 END AS part FROM added) AS parted
  GROUP BY state, part) AS messages`,
}

/** $1: keys of ended jobs; $2: slots; $3: ms of a lease; $4, $5: channel and lane of the worker; $6, $7: channels and messages of answers. */
const turn = {
  name: 'turn-handed',
  text: `
WITH ended AS (
  UPDATE limit_jobs SET state = 2, lease_until = NULL, result = 'true', ended_at = now()
  WHERE seq = ANY ($1::bigint[]) AND state = 1),
offer AS MATERIALIZED (SELECT slots + $2::int AS slots FROM limit_offers WHERE channel = $4 AND lane = $5 FOR UPDATE),
next AS MATERIALIZED (
  SELECT seq FROM limit_jobs WHERE state = 0 ORDER BY seq LIMIT (SELECT slots FROM offer) FOR UPDATE SKIP LOCKED),
offered AS (
  UPDATE limit_offers SET slots = (SELECT slots FROM offer) - (SELECT count(*) FROM next) WHERE channel = $4 AND lane = $5),
leased AS (
  UPDATE limit_jobs AS j SET state = 1, lease_until = now() + $3 * interval '1 ms'
  FROM next WHERE j.seq = next.seq RETURNING j.seq::text AS key, j.payload)
SELECT key, payload FROM leased
UNION ALL
SELECT NULL, pg_notify(channel, message)::text FROM unnest($6::text[], $7::text[]) AS answers (channel, message)`,
}

export const contender: Contender = {
  name: 'limit handed over',
  driver: 'postgres',
  package: 'pg',
  isPeer: true,
  isLimit: true,
  handsOver: true,
  cases: handedCases,
  isShared: true,
  durability: 'full',
  configuration:
    `pg, ${postgresServer}; one statement per insert, which leases jobs to offered slots and notifies with them; one per turn, which records ` +
    'ends and results, notifies with the answers and offers the slots; prepared; two turns in flight; two connections for calls and one that listens',
  unavailable: postgresUnavailable,

  async setup({ leaseMs, countCalls }, place) {
    const { url } = await postgresAt(place, { countCalls })
    const { default: pg } = await import('pg')
    const pool = new pg.Pool({ connectionString: url, max: 2 })
    pool.on('error', () => {}) // the server may stop first
    await pool.query(schema)
    const listener = new pg.Client({ connectionString: url })
    listener.on('error', () => {})
    await listener.connect()
    const own = `worker-${randomUUID()}`
    const listeners = new Map<string, (message: string) => void>()
    listener.on('notification', ({ channel, payload }: { channel: string; payload: string }) =>
      listeners.get(channel)?.(payload),
    )
    const listen = async (channel: string, onMessage: (message: string) => void): Promise<void> => {
      listeners.set(channel, onMessage)
      await listener.query(`LISTEN "${channel}"`)
    }
    const queue: HandingQueue = {
      async insert(jobs) {
        const values = [jobs.map(({ id }) => id), jobs.map(({ payload }) => payload), leaseMs]
        await pool.query({ ...insert, values })
      },
      async offer(onHanded) {
        await pool.query(`INSERT INTO limit_offers SELECT $1, lane, 0 FROM generate_series(0, 1) AS lane`, [own])
        await listen(own, (message) => onHanded(jobsOf(message)))
        await listen(anyWorker, () => onHanded([]))
      },
      async turn({ ended, answers, slots, lane }) {
        const [channels, messages] = [answers.map(({ channel }) => channel), answers.map(({ message }) => message)]
        const values = [`{${ended.join()}}`, slots, leaseMs, own, lane, channels, messages]
        const { rows } = (await pool.query({ ...turn, values })) as { rows: { key: string | null; payload: string }[] }
        return rows.flatMap(({ key, payload }) =>
          key === null ? [] : [{ key, payload: JSON.parse(payload) as LeasedJob['payload'] }],
        )
      },
      listen,
      async close() {
        await Promise.all([pool.end(), listener.end()])
      },
    }
    return handedSession(queue)
  },
}
