// follows: one row per pair of users and remote server.

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
      // In a statement of its own, which sees what was committed meanwhile.
      const [standing] = await read(sql.find, [followerId, followingId, followerServerUrl], tx)
      if (standing) return { row: followOf(standing), isNew: false }
      throw new StorageError(`the follow ${id} is another one already, or was removed just now`, {
        maybeApplied: false,
      })
    },
    async find(followerId, followingId, followerServerUrl, tx) {
      const [row] = await read(sql.find, [followerId, followingId, followerServerUrl], tx)
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
