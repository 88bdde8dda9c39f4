// Converts rows of text to records. The order of the columns is that of statements.ts.

import type { UnhealthyReason } from '../peers/threats.ts'
import type { Row } from './database.ts'
import type { BlacklistRow, DeliveryRow, FollowRow, PeerRow } from './store.ts'

const number = (cell: string | null | undefined): number => Number(cell)
const optional = (cell: string | null | undefined): string | undefined => cell ?? undefined
const instant = (cell: string | null | undefined): number | undefined => (cell == null ? undefined : Number(cell))
/** Postgres writes true, SQLite 1. */
const boolean = (cell: string | null | undefined): boolean => cell === 'true' || cell === '1'

export const deliveryOf = (row: Row): DeliveryRow => ({
  id: row[0]!,
  name: row[1]!,
  targetUrl: row[2]!,
  serverUrl: row[3]!,
  payload: row[4]!,
  attempts: number(row[5]),
  lastAttemptedAt: instant(row[6]),
  nextAttemptAt: instant(row[7]),
  createdAt: number(row[8]),
  status: row[9] as DeliveryRow['status'],
  lastError: optional(row[10]),
  settledAt: instant(row[11]),
  bodyId: optional(row[12]),
  orderKey: optional(row[13]),
})

export const peerOf = (row: Row): PeerRow => ({
  url: row[0]!,
  publicKey: row[1]!,
  encryptionPublicKey: row[2]!,
  lastSeen: number(row[3]),
  createdAt: number(row[4]),
  updatedAt: number(row[5]),
  isHealthy: boolean(row[6]),
  unhealthyReason: optional(row[7]) as UnhealthyReason | undefined,
  healthCheckAttempts: number(row[8]),
  site: optional(row[9]),
  addressRange: optional(row[10]),
  usedAt: instant(row[11]),
  reachedAt: instant(row[12]),
})

export const blacklistRowOf = (row: Row): BlacklistRow => ({
  serverUrl: row[0]!,
  match: row[1] as BlacklistRow['match'],
  reason: row[2]!,
  createdAt: number(row[3]),
})

export const followOf = (row: Row): FollowRow => ({
  id: row[0]!,
  followerId: row[1]!,
  followingId: row[2]!,
  followerServerUrl: optional(row[3]),
  followingServerUrl: optional(row[4]),
  accepted: boolean(row[5]),
  acknowledged: boolean(row[6]),
  createdAt: number(row[7]),
})
