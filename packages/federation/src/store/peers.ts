// The table server_registry: known servers and their pinned keys.
// Invariant: only repin() and rotate() change the keys of a row.

import { siteOf } from '../peers/site.ts'
import type { Row } from './database.ts'
import { peerOf } from './rows.ts'
import type { PeerStore } from './store.ts'
import type { Tables } from './tables.ts'

/** Larger than any number of attempts. */
const noLimit = 2 ** 31 - 1

export function peerTable({ statements, read, write }: Tables): PeerStore {
  const sql = statements.peers
  return {
    async get(url) {
      const [row] = await read(sql.get, [url])
      return row && peerOf(row)
    },
    async pin({ url, publicKey, encryptionPublicKey }, now, { addressRange, isReached = false } = {}) {
      const reachedAt = isReached ? now : undefined
      const values = [url, publicKey, encryptionPublicKey, now, siteOf(url), addressRange, reachedAt]
      if ((await write(sql.insert, values)).length > 0) return 'inserted'
      return (await write(sql.touch, values)).length > 0 ? 'touched' : 'pinned_otherwise'
    },
    async healthy(url, now) {
      await write(sql.healthy, [url, now])
    },
    async unhealthy(url, reason, maxAttempts, now) {
      return attempts(await write(sql.unhealthy, [url, reason, maxAttempts, now]))
    },
    async checked(url, now) {
      return attempts(await write(sql.checked, [url, now]))
    },
    async used(url, now) {
      await write(sql.used, [url, now])
    },
    async reached(url, now) {
      await write(sql.reached, [url, now])
    },
    async evictUnused({ url, site, addressRange }, { perSite, perRange, max }) {
      if (site !== undefined) await write(sql.evict('site'), [Math.max(0, perSite - 1), url, site])
      if (addressRange !== undefined)
        await write(sql.evict('address_range'), [Math.max(0, perRange - 1), url, addressRange])
      await write(sql.evict(undefined), [Math.max(0, max - 1), url])
    },
    async expireUnused(before, limit) {
      return (await write(sql.expire, [before, limit])).length
    },
    async listReached(limit) {
      return (await read(sql.listReached, [limit])).map(peerOf)
    },
    async listHealthy(limit) {
      return (await read(sql.listHealthy, [limit])).map(peerOf)
    },
    async listUnhealthy({ reasons, attemptsBelow = noLimit, limit }) {
      if (reasons.length === 0) return []
      return (await read(sql.listUnhealthy(reasons.length), [limit, attemptsBelow, ...reasons])).map(peerOf)
    },
    async list({ after = '', limit }) {
      return (await read(sql.list, [after, limit])).map(peerOf)
    },
    async rotate(from, { publicKey, encryptionPublicKey }, now) {
      const old = [from.publicKey, from.encryptionPublicKey]
      return (await write(sql.rotate, [from.url, publicKey, encryptionPublicKey, now, ...old])).length > 0
    },
    async repin({ url, publicKey, encryptionPublicKey }, now) {
      return (await write(sql.repin, [url, publicKey, encryptionPublicKey, now])).length > 0
    },
    async remove(url) {
      return (await write(sql.remove, [url])).length > 0
    },
  }
}

const attempts = ([row]: readonly Row[]): number | undefined => row && Number(row[0])
