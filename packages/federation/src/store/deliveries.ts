// The table delivery_jobs: one row per delivery that is open or failed.

import type { Value } from './database.ts'
import { deliveryOf } from './rows.ts'
import type { DeliveryStore, FanOut } from './store.ts'
import type { Tables } from './tables.ts'

const rowsPerStatement = 50

export function deliveryTable({ statements, read, write }: Tables): DeliveryStore {
  const sql = statements.deliveries
  return {
    async insert({ id, name, targetUrl, serverUrl, payload, createdAt, orderKey }, tx) {
      await write(sql.insert, [id, name, targetUrl, serverUrl, payload, createdAt, undefined, orderKey], tx)
    },
    async fanOut({ name, bodyId, payload, orderKey, createdAt, deliveries }, tx) {
      await write(statements.bodies.insert, [bodyId, payload, createdAt], tx)
      const insert = async (rows: FanOut['deliveries']): Promise<void> => {
        const values = rows.flatMap(({ id, targetUrl, serverUrl }) => [id, targetUrl, serverUrl])
        await write(sql.insertMany(rows.length), [name, bodyId, orderKey, createdAt, ...values], tx)
      }
      // Two lengths of a statement, so that few are prepared.
      const whole = deliveries.length - (deliveries.length % rowsPerStatement)
      for (let at = 0; at < whole; at += rowsPerStatement) await insert(deliveries.slice(at, at + rowsPerStatement))
      for (const row of deliveries.slice(whole)) await insert([row])
    },
    async sweepBodies(before, limit) {
      return (await write(statements.bodies.sweep, [before, limit])).length
    },
    async first(serverUrl, orderKey) {
      const [row] = await read(sql.first, [serverUrl, orderKey])
      return row?.[0] ?? undefined
    },
    async reopen(id, now) {
      await write(sql.reopen, [id, now])
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
    async refused(id) {
      const [row] = await write(sql.refused, [id])
      return Number(row?.[0] ?? 0)
    },
    async drop(serverUrl, keep, now, limit) {
      return (await write(sql.drop, [serverUrl, keep, now, limit])).map(([id]) => id!)
    },
    async forgetDropped(serverUrl, keep) {
      await write(sql.forgetDropped, [serverUrl, keep])
    },
    async backlogs(moreThan, limit) {
      return (await read(sql.backlogs, [moreThan, limit])).map(([serverUrl, count, oldestAt]) => ({
        serverUrl: serverUrl!,
        count: Number(count),
        oldestAt: Number(oldestAt),
      }))
    },
    async waiting() {
      const [row] = await read(sql.waiting, [])
      return { count: Number(row![0]), oldestAt: row![1] == null ? undefined : Number(row![1]) }
    },
    async remove(id, tx) {
      await write(sql.remove, [id], tx)
    },
    async sweep(before, limit) {
      return (await write(sql.sweep, [before, limit])).length
    },
    async list({ serverUrl, status, name, lastError, after, limit }) {
      const filters = { server_url: serverUrl, status, name, last_error: lastError }
      const given = Object.entries(filters).filter(([, value]) => value !== undefined)
      // Instants are never negative, so a page without `after` is the first one.
      const values: Value[] = [limit, after?.createdAt ?? -1, after?.id ?? '', ...given.map(([, value]) => value)]
      return (await read(sql.list(given.map(([column]) => column)), values)).map(deliveryOf)
    },
  }
}
