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
    'body_id',
    'order_key',
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
    'site',
    'address_range',
    'used_at',
    'reached_at',
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
  peerStates: [
    'state',
    'failures',
    'first_failed_at',
    'last_success_at',
    'next_contact_at',
    'changed_at',
    'version',
    'gone_probes',
    'gone_since',
  ],
  inbox: ['outcome', 'ack', 'sealed_with'],
}

const selected = (names: readonly string[]): string =>
  names.map((name, index) => `CAST(${name} AS text) AS c${index}`).join(', ')

/** $n, $n + 1, … */
const list = (from: number, count: number): string =>
  Array.from({ length: count }, (_, index) => text(from + index)).join(', ')

/** Makes the text for each number once. The numbers are few: labels of a host name, and sizes of a batch. */
function once(make: (count: number) => string): (count: number) => string {
  const texts = new Map<number, string>()
  return (count) => {
    const known = texts.get(count) ?? make(count)
    texts.set(count, known)
    return known
  }
}

export type Statements = ReturnType<typeof makeStatements>

export function makeStatements(prefix: string) {
  const deliveries = `${prefix}delivery_jobs`
  const peers = `${prefix}server_registry`
  const blacklist = `${prefix}blacklisted_servers`
  const follows = `${prefix}follows`
  const inbox = `${prefix}inbox`
  const states = `${prefix}peer_states`
  const bodies = `${prefix}outbox_bodies`
  const deliveryColumns = selected(columns.deliveries)
  const wholeBody = `COALESCE((SELECT payload FROM ${bodies} AS b WHERE b.id = body_id), payload)`
  const wholeDelivery = selected(columns.deliveries.map((name) => (name === 'payload' ? wholeBody : name)))
  const peerColumns = selected(columns.peers)
  const followColumns = selected(columns.follows)
  const parties = `follower_id = ${text(1)} AND following_id = ${text(2)}
    AND COALESCE(follower_server_url, '') = COALESCE(${text(3)}, '')`
  return {
    deliveries: {
      /** The sequence number counts the deliveries to a server under one order key. */
      insert: `INSERT INTO ${deliveries} (id, name, target_url, server_url, payload, created_at, body_id, order_key, seq)
        VALUES (${text(1)}, ${text(2)}, ${text(3)}, ${text(4)}, ${text(5)}, ${integer(6)}, ${text(7)}, ${text(8)},
        CASE WHEN ${text(8)} IS NULL THEN NULL ELSE (SELECT COALESCE(MAX(seq), 0) + 1 FROM ${deliveries}
          WHERE server_url = ${text(4)} AND order_key = ${text(8)}) END)
        ON CONFLICT (id) DO NOTHING`,
      /** Rows without a payload of their own. $1 name, $2 body, $3 order key, $4 instant; id, target and server of each row follow. */
      insertMany: once(
        (count) =>
          `INSERT INTO ${deliveries} (id, name, target_url, server_url, payload, created_at, body_id, order_key, seq)
        SELECT v.id, ${text(1)}, v.target_url, v.server_url, '', ${integer(4)}, ${text(2)}, ${text(3)},
          CASE WHEN ${text(3)} IS NULL THEN NULL ELSE (SELECT COALESCE(MAX(seq), 0) + 1 FROM ${deliveries} AS d
            WHERE d.server_url = v.server_url AND d.order_key = ${text(3)}) END
        FROM (${Array.from({ length: count }, (_, n) => {
          const at = 5 + 3 * n
          return `SELECT ${text(at)} AS id, ${text(at + 1)} AS target_url, ${text(at + 2)} AS server_url`
        }).join(' UNION ALL ')}) AS v
        WHERE true ON CONFLICT (id) DO NOTHING`,
      ),
      /** The delivery to $1 under the order key $2 that comes first. */
      first: `SELECT CAST(id AS text) AS c0 FROM ${deliveries}
        WHERE server_url = ${text(1)} AND order_key = ${text(2)} AND status = 'open' ORDER BY seq, created_at, id LIMIT 1`,
      reopen: `UPDATE ${deliveries} SET status = 'open', attempts = 0, refused = 0, last_attempted_at = NULL, next_attempt_at = NULL,
        settled_at = NULL, created_at = ${integer(2)} WHERE id = ${text(1)}`,
      get: `SELECT ${wholeDelivery} FROM ${deliveries} WHERE id = ${text(1)}`,
      attempted: `UPDATE ${deliveries} SET attempts = attempts + 1, last_attempted_at = ${integer(2)} WHERE id = ${text(1)}`,
      retried: `UPDATE ${deliveries} SET next_attempt_at = ${integer(2)}, last_error = ${text(3)}
        WHERE id = ${text(1)} AND status = 'open'`,
      failed: `UPDATE ${deliveries} SET status = 'failed', last_error = ${text(2)}, settled_at = ${integer(3)},
        next_attempt_at = NULL WHERE id = ${text(1)}`,
      /** Counts an error of the server. */
      refused: `UPDATE ${deliveries} SET refused = refused + 1 WHERE id = ${text(1)} RETURNING CAST(refused AS text) AS c0`,
      /** Ends what waits for $1, without its body, except the $2 newest; at most $4 at a time. */
      drop: `UPDATE ${deliveries} SET status = 'failed', last_error = 'BACKLOG_FULL', settled_at = ${integer(3)},
        next_attempt_at = NULL, payload = '', body_id = NULL WHERE id IN (SELECT id FROM ${deliveries}
          WHERE server_url = ${text(1)} AND status = 'open' ORDER BY created_at DESC, id DESC
          LIMIT ${integer(4)} OFFSET ${integer(2)}) RETURNING CAST(id AS text) AS c0`,
      /** Removes what drop() left of $1, except the $2 newest. */
      forgetDropped: `DELETE FROM ${deliveries} WHERE id IN (SELECT id FROM ${deliveries}
        WHERE server_url = ${text(1)} AND status = 'failed' AND last_error = 'BACKLOG_FULL'
        ORDER BY created_at DESC, id DESC LIMIT 10000 OFFSET ${integer(2)})`,
      /** Servers with more than $1 waiting deliveries, the $2 largest first. */
      backlogs: `SELECT CAST(server_url AS text) AS c0, CAST(COUNT(*) AS text) AS c1, CAST(MIN(created_at) AS text) AS c2
        FROM ${deliveries} WHERE status = 'open' GROUP BY server_url HAVING COUNT(*) > ${integer(1)}
        ORDER BY COUNT(*) DESC, server_url LIMIT ${integer(2)}`,
      waiting: `SELECT CAST(COUNT(*) AS text) AS c0, CAST(MIN(created_at) AS text) AS c1 FROM ${deliveries} WHERE status = 'open'`,
      remove: `DELETE FROM ${deliveries} WHERE id = ${text(1)}`,
      sweep: `DELETE FROM ${deliveries} WHERE id IN (SELECT id FROM ${deliveries}
        WHERE status = 'failed' AND settled_at < ${integer(1)} ORDER BY settled_at LIMIT ${integer(2)})
        RETURNING CAST(id AS text) AS c0`,
      /** $1 is the limit, $2 and $3 the last row of the previous page; the given columns follow. */
      list: (given: readonly string[]): string =>
        `SELECT ${deliveryColumns} FROM ${deliveries} WHERE (created_at, id) > (${integer(2)}, ${text(3)})
          ${given.map((name, index) => `AND ${name} = ${text(index + 4)}`).join(' ')}
          ORDER BY created_at, id LIMIT ${integer(1)}`,
    },
    bodies: {
      insert: `INSERT INTO ${bodies} (id, payload, created_at) VALUES (${text(1)}, ${text(2)}, ${integer(3)})
        ON CONFLICT (id) DO NOTHING`,
      sweep: `DELETE FROM ${bodies} WHERE id IN (SELECT b.id FROM ${bodies} AS b WHERE b.created_at < ${integer(1)}
        AND NOT EXISTS (SELECT 1 FROM ${deliveries} AS d WHERE d.body_id = b.id) LIMIT ${integer(2)})
        RETURNING CAST(id AS text) AS c0`,
    },
    peers: {
      get: `SELECT ${peerColumns} FROM ${peers} WHERE url = ${text(1)}`,
      insert: `INSERT INTO ${peers} (url, public_key, encryption_public_key, last_seen, created_at, updated_at, site,
        address_range, reached_at)
        VALUES (${text(1)}, ${text(2)}, ${text(3)}, ${integer(4)}, ${integer(4)}, ${integer(4)}, ${text(5)}, ${text(6)},
        ${integer(7)})
        ON CONFLICT (url) DO NOTHING RETURNING CAST(url AS text) AS c0`,
      touch: `UPDATE ${peers} SET last_seen = ${integer(4)}, updated_at = ${integer(4)}, site = ${text(5)},
        address_range = COALESCE(${text(6)}, address_range), reached_at = COALESCE(${integer(7)}, reached_at)
        WHERE url = ${text(1)} AND public_key = ${text(2)} AND encryption_public_key = ${text(3)}
        RETURNING CAST(url AS text) AS c0`,
      rotate: `UPDATE ${peers} SET public_key = ${text(2)}, encryption_public_key = ${text(3)}, updated_at = ${integer(4)}
        WHERE url = ${text(1)} AND public_key = ${text(5)} AND encryption_public_key = ${text(6)}
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
      used: `UPDATE ${peers} SET used_at = ${integer(2)}, updated_at = ${integer(2)} WHERE url = ${text(1)}`,
      reached: `UPDATE ${peers} SET reached_at = ${integer(2)}, updated_at = ${integer(2)} WHERE url = ${text(1)}`,
      /** Removes all but the $1 most recently seen of the unused peers with this value; $2 stays and is not counted. */
      evict: (of: 'site' | 'address_range' | undefined): string =>
        `DELETE FROM ${peers} WHERE url IN (SELECT url FROM ${peers}
          WHERE used_at IS NULL AND reached_at IS NULL AND url <> ${text(2)} ${of ? `AND ${of} = ${text(3)}` : ''}
          ORDER BY last_seen DESC, url LIMIT 1000 OFFSET ${integer(1)})`,
      expire: `DELETE FROM ${peers} WHERE url IN (SELECT url FROM ${peers}
        WHERE used_at IS NULL AND reached_at IS NULL AND last_seen < ${integer(1)} ORDER BY last_seen LIMIT ${integer(2)})
        RETURNING CAST(url AS text) AS c0`,
      listHealthy: `SELECT ${peerColumns} FROM ${peers} WHERE is_healthy = true
        ORDER BY last_seen DESC, url LIMIT ${integer(1)}`,
      listReached: `SELECT ${peerColumns} FROM ${peers} WHERE is_healthy = true AND reached_at IS NOT NULL
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
      matching: once(
        (names) =>
          `SELECT ${selected(columns.blacklist)} FROM ${blacklist}
          WHERE server_url = ${text(1)} OR ("match" = 'domain' AND server_url IN (${list(2, names)}))
          ORDER BY "match" DESC LIMIT 1`,
      ),
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
    peerStates: {
      get: `SELECT ${selected(columns.peerStates)} FROM ${states} WHERE origin = ${text(1)}`,
      insert: `INSERT INTO ${states} (origin, state, failures, first_failed_at, last_success_at, next_contact_at, changed_at,
          gone_probes, gone_since, version)
        VALUES (${text(1)}, ${text(2)}, ${integer(3)}, ${integer(4)}, ${integer(5)}, ${integer(6)}, ${integer(7)},
          ${integer(8)}, ${integer(9)}, 1)
        ON CONFLICT (origin) DO NOTHING RETURNING CAST(origin AS text) AS c0`,
      update: `UPDATE ${states} SET state = ${text(2)}, failures = ${integer(3)}, first_failed_at = ${integer(4)},
        last_success_at = ${integer(5)}, next_contact_at = ${integer(6)}, changed_at = ${integer(7)},
        gone_probes = ${integer(8)}, gone_since = ${integer(9)}, version = version + 1
        WHERE origin = ${text(1)} AND version = ${integer(10)} RETURNING CAST(origin AS text) AS c0`,
      /** Of peers that did not change since $1 and that nothing waits for; at most $2 at a time. */
      expire: `DELETE FROM ${states} WHERE origin IN (SELECT s.origin FROM ${states} AS s WHERE s.changed_at < ${integer(1)}
        AND NOT EXISTS (SELECT 1 FROM ${deliveries} AS d WHERE d.server_url = s.origin AND d.status = 'open')
        ORDER BY s.changed_at LIMIT ${integer(2)}) RETURNING CAST(origin AS text) AS c0`,
      /** Of peers that never succeeded, all but the $1 that changed last; at most $2 at a time. */
      evict: `DELETE FROM ${states} WHERE origin IN (SELECT origin FROM ${states} WHERE last_success_at IS NULL
        ORDER BY changed_at DESC, origin LIMIT ${integer(2)} OFFSET ${integer(1)}) RETURNING CAST(origin AS text) AS c0`,
      counts: `SELECT CAST(state AS text) AS c0, CAST(COUNT(*) AS text) AS c1 FROM ${states} GROUP BY state`,
    },
    inbox: {
      get: `SELECT ${selected(columns.inbox)} FROM ${inbox} WHERE origin = ${text(1)} AND id = ${text(2)}`,
      insert: `INSERT INTO ${inbox} (origin, id, outcome, received_at, expires_at, ack, sealed_with)
        VALUES (${text(1)}, ${text(2)}, ${text(3)}, ${integer(4)}, ${integer(5)}, ${text(6)}, ${text(7)})
        ON CONFLICT (origin, id) DO NOTHING RETURNING CAST(id AS text) AS c0`,
      decide: `UPDATE ${inbox} SET outcome = ${text(3)}, ack = ${text(4)}, sealed_with = ${text(5)}
        WHERE origin = ${text(1)} AND id = ${text(2)}`,
      expire: `DELETE FROM ${inbox} WHERE (origin, id) IN (SELECT origin, id FROM ${inbox}
        WHERE expires_at < ${integer(1)} ORDER BY expires_at LIMIT ${integer(2)}) RETURNING CAST(id AS text) AS c0`,
      compact: `UPDATE ${inbox} SET ack = NULL, sealed_with = NULL WHERE (origin, id) IN (SELECT origin, id FROM ${inbox}
        WHERE ack IS NOT NULL AND expires_at IS NULL AND received_at < ${integer(1)} ORDER BY received_at LIMIT ${integer(2)})
        RETURNING CAST(id AS text) AS c0`,
    },
  }
}
