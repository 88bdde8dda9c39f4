// The table delivery_jobs: one row per delivery that is open or failed.

import type { Value } from './database.ts'
import { deliveryOf } from './rows.ts'
import type { DeliveryStore } from './store.ts'
import type { Tables } from './tables.ts'

export function deliveryTable({ statements, read, write }: Tables): DeliveryStore {
  const sql = statements.deliveries
  return {
    async insert({ id, name, targetUrl, serverUrl, payload, createdAt }, tx) {
      await write(sql.insert, [id, name, targetUrl, serverUrl, payload, createdAt], tx)
    },
    async get(id) {
      const [row] = await read(sql.get, [id])
      return row && deliveryOf(row)
    },
    async attempted(id, now) {
      await write(sql.attempted, [id, now])
    },
    async retried(id, nextAttemptAt, code) {
      await write(sql.retried, [id, nextAttemptAt, code])
    },
    async failed(id, code, now) {
      await write(sql.failed, [id, code, now])
    },
    async remove(id, tx) {
      await write(sql.remove, [id], tx)
    },
    async sweep(before, limit) {
      return (await write(sql.sweep, [before, limit])).length
    },
    async list({ serverUrl, status, limit }) {
      const given: ['server_url' | 'status', Value][] = []
      if (serverUrl !== undefined) given.push(['server_url', serverUrl])
      if (status !== undefined) given.push(['status', status])
      const rows = await read(sql.list(given.map(([name]) => name)), [limit, ...given.map(([, value]) => value)])
      return rows.map(deliveryOf)
    },
  }
}
