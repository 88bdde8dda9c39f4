// The table inbox: one row per message that has had its effect.

import type { InboxStore } from './store.ts'
import type { Tables } from './tables.ts'

export function inboxTable({ statements, read, write }: Tables): InboxStore {
  const sql = statements.inbox
  return {
    async get(origin, id, tx) {
      const [row] = await read(sql.get, [origin, id], tx)
      return row && { outcome: row[0]!, ack: row[1] ?? undefined, sealedWith: row[2] ?? undefined }
    },
    async insert({ origin, id, receivedAt, expiresAt, decided }, tx) {
      const { outcome = '', ack, sealedWith } = decided ?? {}
      return (await write(sql.insert, [origin, id, outcome, receivedAt, expiresAt, ack, sealedWith], tx)).length > 0
    },
    async decide(origin, id, { outcome, ack, sealedWith }, tx) {
      await write(sql.decide, [origin, id, outcome, ack, sealedWith], tx)
    },
    async expire(now, limit) {
      return (await write(sql.expire, [now, limit])).length
    },
    async compact(before, limit) {
      return (await write(sql.compact, [before, limit])).length
    },
  }
}
