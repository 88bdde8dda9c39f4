// The table follows: one row per pair of users, remote server and followed server.

import { StorageError } from 'holdfast'
import { followOf } from './rows.ts'
import type { FollowStore } from './store.ts'
import type { Tables } from './tables.ts'

export function followTable({ statements, read, write }: Tables): FollowStore {
  const sql = statements.follows
  return {
    async insert(row, tx) {
      const { id, followerId, followingId, followerServerUrl, followingServerUrl } = row
      const values = [followerServerUrl, followingServerUrl, row.accepted, row.acknowledged, row.createdAt]
      const [inserted] = await write(sql.insert, [id, followerId, followingId, ...values], tx)
      if (inserted) return { row: followOf(inserted), isNew: true }
      // A separate statement: it sees a row that was committed while the insert waited.
      const [standing] = await read(sql.standing, [followerId, followingId, followerServerUrl, followingServerUrl], tx)
      if (standing) return { row: followOf(standing), isNew: false }
      const message = `follows: the id ${id} belongs to another follow, or that follow was removed just now. Nothing was written.`
      throw new StorageError(message, { maybeApplied: false })
    },
    async find(followerId, followingId, followerServerUrl, followingServerUrl, tx) {
      const [row] = await read(sql.find, [followerId, followingId, followerServerUrl, followingServerUrl], tx)
      return row && followOf(row)
    },
    async acknowledge(id, accepted, tx) {
      await write(sql.acknowledge, [id, accepted], tx)
    },
    async remove(id, tx) {
      return (await write(sql.remove, [id], tx)).length > 0
    },
  }
}
