// The compared message queues: Holdfast's on a storage, and Fedify's own on the same server or file system.

import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { PostgresMessageQueue } from '@fedify/postgres'
import { RedisMessageQueue } from '@fedify/redis'
import { SqliteMessageQueue } from '@fedify/sqlite'
import { Redis } from 'ioredis'
import postgres from 'postgres'
import { MemoryStorage, type Storage } from 'holdfast'
import { FileStorage } from 'holdfast/file'
import { PostgresStorage } from 'holdfast/postgres'
import { RedisStorage } from 'holdfast/redis'
import { SqliteStorage } from 'holdfast/sqlite'
import { type MessageQueue, StorageMessageQueue } from 'holdfast/tasks'
import { versionOf } from '../peers.ts'

export interface Opened {
  readonly queue: MessageQueue
  close(): Promise<void>
}

/** Where a queue may be: its own folder, and the servers. */
export interface Where {
  readonly folder: string
  readonly redisUrl: string
  readonly postgresUrl: string
}

export const queueDrivers = ['memory', 'file', 'sqlite', 'redis', 'postgres'] as const
export type QueueDriver = (typeof queueDrivers)[number]

export interface QueueContender {
  readonly name: string
  readonly driver: QueueDriver
  readonly isPeer: boolean
  /** What an acknowledged message survives, and what happens to one whose worker dies. */
  readonly keeps: string
  /** Opens an empty queue. @param concurrency concurrent handlers, if the queue has that setting @default its own */
  open(where: Where, concurrency?: number): Promise<Opened>
}

/** A number per queue, so that each is empty. */
let opened = 0

const [powerCut, ended, nothing] = ['a power cut', 'the end of every process', 'nothing']
const comesBack = 'leased: recovered'
const isLost = 'deleted before its handler runs: lost'

const ours = (
  name: string,
  driver: QueueDriver,
  keeps: string,
  storageOf: (where: Where, number: number) => Storage,
): QueueContender => ({
  name,
  driver,
  isPeer: false,
  keeps: `${keeps}; ${comesBack}`,
  open: async (where, concurrency) => {
    const queue = new StorageMessageQueue(storageOf(where, ++opened), { concurrency })
    return { queue, close: () => queue.close() }
  },
})

const peer = (
  packageName: string,
  driver: QueueDriver,
  keeps: string,
  open: (
    where: Where,
    number: number,
  ) => { readonly queue: unknown; readonly close: () => void | Promise<void>; readonly ready?: Promise<void> },
): QueueContender => ({
  name: `${packageName} ${versionOf(packageName).split('+')[0]}`,
  driver,
  isPeer: true,
  keeps: `${keeps}; ${isLost}`,
  open: async (where) => {
    const { queue, close, ready } = open(where, ++opened)
    await ready
    return { queue: queue as MessageQueue, close: async () => close() }
  },
})

export const queueContenders: readonly QueueContender[] = [
  ours('holdfast', 'memory', nothing, () => new MemoryStorage()),
  ours('holdfast', 'file', powerCut, ({ folder }) => new FileStorage({ directory: folder })),
  ours('holdfast', 'sqlite', powerCut, ({ folder }) => new SqliteStorage({ path: join(folder, 'jobs.db') })),
  ours('holdfast, relaxed', 'sqlite', ended, ({ folder }) => {
    return new SqliteStorage({ path: join(folder, 'jobs.db'), durability: 'relaxed' })
  }),
  peer('@fedify/sqlite', 'sqlite', `${powerCut} (WAL, synchronous FULL)`, ({ folder }) => {
    const database = new DatabaseSync(join(folder, 'messages.db'))
    return { queue: new SqliteMessageQueue(database), close: () => database.close() }
  }),
  ours('holdfast', 'redis', 'what the server does', ({ redisUrl }, number) => {
    return new RedisStorage({ url: redisUrl, prefix: `bench-${number}` })
  }),
  peer('@fedify/redis', 'redis', 'what the server does', ({ redisUrl }, number) => {
    const names = { channelKey: `channel-${number}`, queueKey: `queue-${number}`, lockKey: `lock-${number}` }
    const queue = new RedisMessageQueue(() => new Redis(redisUrl), names)
    return { queue, close: () => queue[Symbol.dispose]() }
  }),
  ours('holdfast', 'postgres', powerCut, ({ postgresUrl }, number) => {
    return new PostgresStorage({ url: postgresUrl, schema: `bench_${number}` })
  }),
  peer('@fedify/postgres', 'postgres', powerCut, ({ postgresUrl }, number) => {
    const sql = postgres(postgresUrl, { onnotice: () => {} })
    const names = { tableName: `messages_${number}`, channelName: `channel_${number}` }
    const queue = new PostgresMessageQueue(sql, names)
    // Its first calls, made concurrently, would conflict.
    return { queue, close: () => sql.end({ timeout: 1 }), ready: queue.initialize() }
  }),
]

export function inFolder(parent: string): { readonly folder: string; remove(): void } {
  const folder = mkdtempSync(join(parent, 'queue-'))
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
