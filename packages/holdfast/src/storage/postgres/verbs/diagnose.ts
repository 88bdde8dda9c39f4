// Findings about a Postgres server: what keeps dead rows from being removed, rows that were not, and indexes that do not work.

import type { Finding } from '../../storage.ts'
import { sweepFindings, unsweptMs } from '../../sweep-findings.ts'
import type { Row, Statement } from '../connection/database.ts'
import { columns, param, type Sql } from '../sql/statement.ts'
import type { OpenStorage } from './open-storage.ts'

/** A transaction that is open for longer holds back the removal of dead rows. */
const heldMs = 60_000
/** Dead rows of a table that are many: this number, and more than the live ones. */
const manyDead = 10_000

/** Without these, claims scan the table. */
const claimIndexes = ['jobs_id', 'jobs_ready', 'jobs_leases', 'jobs_members', 'jobs_aside', 'groups_ring']

export function diagnoseStatements({ at, now }: Sql) {
  const schema = `(SELECT relnamespace FROM pg_class WHERE oid = ${literal(`${at}jobs`)}::regclass)`
  return {
    /** $1: for how long, in seconds. */
    held: unprepared(
      `SELECT ${columns('h.kind', 'h.name', 'h.who', 'h.seconds', 'h.query')} FROM (
         SELECT 'transaction' AS kind, pid::text AS name, usename::text AS who,
           extract(epoch FROM clock_timestamp() - xact_start) AS seconds, left(query, 80) AS query
         FROM pg_stat_activity
         WHERE datname = current_database() AND backend_xmin IS NOT NULL AND xact_start IS NOT NULL AND pid <> pg_backend_pid()
         UNION ALL
         SELECT 'prepared transaction', gid, owner::text, extract(epoch FROM clock_timestamp() - prepared), NULL
         FROM pg_prepared_xacts WHERE database = current_database()
       ) AS h WHERE h.seconds >= ${param(1, 'double precision')} ORDER BY h.seconds DESC LIMIT 5`,
    ),
    /** Slots of replicas that are not connected. */
    slots: unprepared(
      `SELECT ${columns('s.slot_name', 'age(s.xmin)')} FROM pg_replication_slots AS s WHERE NOT s.active AND s.xmin IS NOT NULL`,
    ),
    dead: unprepared(
      `SELECT ${columns('s.relname', 's.n_live_tup', 's.n_dead_tup')}
       FROM pg_stat_user_tables AS s JOIN pg_class AS c ON c.oid = s.relid
       WHERE c.relnamespace = ${schema} AND s.n_dead_tup >= ${manyDead} AND s.n_dead_tup > s.n_live_tup ORDER BY s.n_dead_tup DESC`,
    ),
    overdue: unprepared(
      `SELECT ${columns('true')} FROM ${at}jobs AS j WHERE j.sweep_at <= (SELECT ${now} - ${unsweptMs}) LIMIT 1`,
    ),
    /** With whether it is there. */
    unusable: unprepared(
      `SELECT ${columns('w.name', 'c.oid IS NOT NULL')} FROM unnest(ARRAY [${claimIndexes.map(literal).join(', ')}]) AS w (name)
       LEFT JOIN pg_class AS c ON c.relname = w.name AND c.relnamespace = ${schema}
       LEFT JOIN pg_index AS i ON i.indexrelid = c.oid
       WHERE (i.indisvalid AND i.indisready) IS NOT TRUE`,
    ),
  }
}

const unprepared = (text: string): Statement => ({ name: '', text })

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** @param ms for how long a transaction may be open */
export async function diagnose({ database, statements }: OpenStorage, ms = heldMs): Promise<Finding[]> {
  const { held, slots, dead, overdue, unusable } = statements.diagnose
  return [
    ...(await database.query(unusable, [])).map(unusableIndex),
    ...(await database.query(held, [ms / 1_000])).map(holder),
    ...(await database.query(slots, [])).map(abandonedSlot),
    ...(await database.query(dead, [])).map(deadRows),
    ...sweepFindings((await database.query(overdue, [])).length > 0),
  ]
}

function holder([kind, name, who, seconds, query]: Row): Finding {
  const shown = query === null ? '' : `: ${query!.replaceAll(/\s+/g, ' ')}`
  return {
    code: 'snapshot_held',
    severity: 'warning',
    sentence: `${kind} ${name} of ${who} is open for ${Math.round(Number(seconds))} s, and keeps dead rows from being removed${shown}`,
    fix:
      kind === 'transaction'
        ? `End it, or run SELECT pg_terminate_backend(${name}).`
        : `COMMIT PREPARED or ROLLBACK PREPARED '${name}'.`,
  }
}

const abandonedSlot = ([name, age]: Row): Finding => ({
  code: 'snapshot_held',
  severity: 'warning',
  sentence: `replication slot ${name} has no connection, and keeps the dead rows of ${age} transactions from being removed`,
  fix: `Start its replica again, or run SELECT pg_drop_replication_slot('${name}').`,
})

const deadRows = ([table, live, dead]: Row): Finding => ({
  code: 'dead_rows',
  severity: 'warning',
  sentence: `table ${table} has ${dead} dead rows and ${live} live ones: statements have to pass over them`,
  fix: 'Look for what keeps vacuum from removing them (snapshot_held), and whether autovacuum is on.',
})

function unusableIndex([index, isThere]: Row): Finding {
  const isMissing = isThere !== 'true'
  return {
    code: isMissing ? 'index_missing' : 'index_invalid',
    severity: 'error',
    sentence: `index ${index} ${isMissing ? 'is missing' : 'is not valid'}: claims scan the whole table`,
    fix: isMissing
      ? 'Create it again, as the schema of a new database has it.'
      : 'Run REINDEX INDEX CONCURRENTLY on it.',
  }
}
