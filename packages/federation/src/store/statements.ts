// Every statement on the tables, once for both SQLite and Postgres. database.ts has the rules.

const text = (n: number): string => `CAST($${n} AS text)`
const integer = (n: number): string => `CAST(CAST($${n} AS text) AS bigint)`
const boolean = (n: number): string => `CAST(CAST($${n} AS text) AS boolean)`

/** In the order in which rows.ts reads them. */
const columns = {
  deliveries: [
    'id',
    'name',
    'target_url',
    'server_url',
    'payload',
    'attempts',
    'last_attempted_at',
    'next_attempt_at',
    'created_at',
    'status',
    'last_error',
    'settled_at',
  ],
  peers: [
    'url',
    'public_key',
    'encryption_public_key',
    'last_seen',
    'created_at',
    'updated_at',
    'is_healthy',
    'unhealthy_reason',
    'health_check_attempts',
  ],
  blacklist: ['server_url', '"match"', 'reason', 'created_at'],
  follows: [
    'id',
    'follower_id',
    'following_id',
    'follower_server_url',
    'following_server_url',
    'accepted',
    'acknowledged',
    'created_at',
  ],
}

const selected = (names: readonly string[]): string =>
  names.map((name, index) => `CAST(${name} AS text) AS c${index}`).join(', ')

/** $n, $n + 1, … */
const list = (from: number, count: number): string =>
  Array.from({ length: count }, (_, index) => text(from + index)).join(', ')

export type Statements = ReturnType<typeof makeStatements>

export function makeStatements(prefix: string) {
  const deliveries = `${prefix}delivery_jobs`
  const peers = `${prefix}server_registry`
  const blacklist = `${prefix}blacklisted_servers`
  const follows = `${prefix}follows`
  const deliveryColumns = selected(columns.deliveries)
  const peerColumns = selected(columns.peers)
  const followColumns = selected(columns.follows)
  const parties = `follower_id = ${text(1)} AND following_id = ${text(2)}
    AND COALESCE(follower_server_url, '') = COALESCE(${text(3)}, '')`
  return {
    deliveries: {
      insert: `INSERT INTO ${deliveries} (id, name, target_url, server_url, payload, created_at)
        VALUES (${text(1)}, ${text(2)}, ${text(3)}, ${text(4)}, ${text(5)}, ${integer(6)}) ON CONFLICT (id) DO NOTHING`,
      get: `SELECT ${deliveryColumns} FROM ${deliveries} WHERE id = ${text(1)}`,
      attempted: `UPDATE ${deliveries} SET attempts = attempts + 1, last_attempted_at = ${integer(2)} WHERE id = ${text(1)}`,
      retried: `UPDATE ${deliveries} SET next_attempt_at = ${integer(2)}, last_error = ${text(3)}
        WHERE id = ${text(1)} AND status = 'open'`,
      failed: `UPDATE ${deliveries} SET status = 'failed', last_error = ${text(2)}, settled_at = ${integer(3)},
        next_attempt_at = NULL WHERE id = ${text(1)}`,
      remove: `DELETE FROM ${deliveries} WHERE id = ${text(1)}`,
      sweep: `DELETE FROM ${deliveries} WHERE id IN (SELECT id FROM ${deliveries}
        WHERE status = 'failed' AND settled_at < ${integer(1)} ORDER BY settled_at LIMIT ${integer(2)})
        RETURNING CAST(id AS text) AS c0`,
      /** $1 is the limit; the given columns follow. */
      list: (given: readonly ('server_url' | 'status')[]): string =>
        `SELECT ${deliveryColumns} FROM ${deliveries}
          ${given.map((name, index) => `${index === 0 ? 'WHERE' : 'AND'} ${name} = ${text(index + 2)}`).join(' ')}
          ORDER BY created_at, id LIMIT ${integer(1)}`,
    },
    peers: {
      get: `SELECT ${peerColumns} FROM ${peers} WHERE url = ${text(1)}`,
      insert: `INSERT INTO ${peers} (url, public_key, encryption_public_key, last_seen, created_at, updated_at)
        VALUES (${text(1)}, ${text(2)}, ${text(3)}, ${integer(4)}, ${integer(4)}, ${integer(4)})
        ON CONFLICT (url) DO NOTHING RETURNING CAST(url AS text) AS c0`,
      touch: `UPDATE ${peers} SET last_seen = ${integer(4)}, updated_at = ${integer(4)}
        WHERE url = ${text(1)} AND public_key = ${text(2)} AND encryption_public_key = ${text(3)}
        RETURNING CAST(url AS text) AS c0`,
      repin: `UPDATE ${peers} SET public_key = ${text(2)}, encryption_public_key = ${text(3)}, updated_at = ${integer(4)}
        WHERE url = ${text(1)} RETURNING CAST(url AS text) AS c0`,
      healthy: `UPDATE ${peers} SET is_healthy = true, unhealthy_reason = NULL, health_check_attempts = 0,
        last_seen = ${integer(2)}, updated_at = ${integer(2)} WHERE url = ${text(1)}`,
      unhealthy: `UPDATE ${peers} SET is_healthy = false, unhealthy_reason = ${text(2)}, updated_at = ${integer(4)},
        health_check_attempts = CASE WHEN is_healthy = true OR health_check_attempts >= ${integer(3)} THEN 0
          ELSE health_check_attempts END
        WHERE url = ${text(1)} RETURNING CAST(health_check_attempts AS text) AS c0`,
      checked: `UPDATE ${peers} SET health_check_attempts = health_check_attempts + 1, updated_at = ${integer(2)}
        WHERE url = ${text(1)} RETURNING CAST(health_check_attempts AS text) AS c0`,
      listHealthy: `SELECT ${peerColumns} FROM ${peers} WHERE is_healthy = true
        ORDER BY last_seen DESC, url LIMIT ${integer(1)}`,
      /** $1 is the limit, $2 the bound of the attempts; the reasons follow. */
      listUnhealthy: (reasons: number): string =>
        `SELECT ${peerColumns} FROM ${peers}
          WHERE is_healthy = false AND health_check_attempts < ${integer(2)} AND unhealthy_reason IN (${list(3, reasons)})
          ORDER BY last_seen DESC, url LIMIT ${integer(1)}`,
      list: `SELECT ${peerColumns} FROM ${peers} WHERE url > ${text(1)} ORDER BY url LIMIT ${integer(2)}`,
      remove: `DELETE FROM ${peers} WHERE url = ${text(1)} RETURNING CAST(url AS text) AS c0`,
    },
    blacklist: {
      /** $1 is the origin; the names that a domain row may have follow. */
      matching: (names: number): string =>
        `SELECT ${selected(columns.blacklist)} FROM ${blacklist}
          WHERE server_url = ${text(1)} OR ("match" = 'domain' AND server_url IN (${list(2, names)}))
          ORDER BY "match" DESC LIMIT 1`,
      add: `INSERT INTO ${blacklist} (server_url, "match", reason, created_at)
        VALUES (${text(1)}, ${text(2)}, ${text(3)}, ${integer(4)})
        ON CONFLICT (server_url) DO UPDATE SET "match" = excluded."match", reason = excluded.reason`,
      remove: `DELETE FROM ${blacklist} WHERE server_url = ${text(1)} OR (server_url = ${text(2)} AND "match" = 'domain')
        RETURNING CAST(server_url AS text) AS c0`,
      list: `SELECT ${selected(columns.blacklist)} FROM ${blacklist} ORDER BY server_url`,
    },
    follows: {
      insert: `INSERT INTO ${follows} (id, follower_id, following_id, follower_server_url, following_server_url, accepted,
        acknowledged, created_at)
        VALUES (${text(1)}, ${text(2)}, ${text(3)}, ${text(4)}, ${text(5)}, ${boolean(6)}, ${boolean(7)}, ${integer(8)})
        ON CONFLICT DO NOTHING RETURNING ${followColumns}`,
      /** The row that an insert of these parties would conflict with. */
      standing: `SELECT ${followColumns} FROM ${follows}
        WHERE ${parties} AND COALESCE(following_server_url, '') = COALESCE(${text(4)}, '')`,
      find: `SELECT ${followColumns} FROM ${follows} WHERE ${parties}
        AND (${text(4)} IS NULL OR following_server_url IS NULL OR following_server_url = ${text(4)})
        ORDER BY following_server_url IS NULL, created_at, id LIMIT 1`,
      acknowledge: `UPDATE ${follows} SET acknowledged = true,
        accepted = CASE WHEN ${boolean(2)} = true THEN true ELSE accepted END WHERE id = ${text(1)}`,
      remove: `DELETE FROM ${follows} WHERE id = ${text(1)} RETURNING CAST(id AS text) AS c0`,
    },
  }
}
