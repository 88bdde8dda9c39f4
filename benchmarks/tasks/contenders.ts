// The message queues that are compared: ours on a storage, and Fedify's own on the same server or file system.

import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { RedisMessageQueue } from '@fedify/redis'
import { SqliteMessageQueue } from '@fedify/sqlite'
import { Redis } from 'ioredis'
import { MemoryStorage, type Storage } from 'holdfast'
import { FileStorage } from 'holdfast/file'
import { RedisStorage } from 'holdfast/redis'
import { SqliteStorage } from 'holdfast/sqlite'
import { type MessageQueue, StorageMessageQueue } from 'holdfast/tasks'
import { versionOf } from '../peers.ts'

export interface Opened {
  readonly queue: MessageQueue
  close(): Promise<void>
}

export interface QueueContender {
  readonly name: string
  readonly driver: 'memory' | 'file' | 'sqlite' | 'redis'
  readonly isPeer: boolean
  /** An empty queue. @param url of the Redis server */
  open(folder: string, url: string): Promise<Opened>
}

let opened = 0

const ours = (
  name: string,
  driver: QueueContender['driver'],
  storageOf: (folder: string, url: string) => Storage,
): QueueContender => ({
  name,
  driver,
  isPeer: false,
  open: async (folder, url) => {
    const queue = new StorageMessageQueue(storageOf(folder, url))
    return { queue, close: () => queue.close() }
  },
})

export const queueContenders: readonly QueueContender[] = [
  ours('holdfast', 'memory', () => new MemoryStorage()),
  ours('holdfast', 'file', (directory) => new FileStorage({ directory })),
  ours('holdfast', 'sqlite', (folder) => new SqliteStorage({ path: join(folder, 'jobs.db') })),
  ours(
    'holdfast, relaxed',
    'sqlite',
    (folder) => new SqliteStorage({ path: join(folder, 'jobs.db'), durability: 'relaxed' }),
  ),
  {
    name: `@fedify/sqlite ${versionOf('@fedify/sqlite')}`,
    driver: 'sqlite',
    isPeer: true,
    open: async (folder) => {
      const database = new DatabaseSync(join(folder, 'messages.db'))
      const queue = new SqliteMessageQueue(database)
      return { queue: queue as MessageQueue, close: async () => database.close() }
    },
  },
  ours('holdfast', 'redis', (_folder, url) => new RedisStorage({ url, prefix: `bench-${++opened}` })),
  {
    name: `@fedify/redis ${versionOf('@fedify/redis')}`,
    driver: 'redis',
    isPeer: true,
    open: async (_folder, url) => {
      const number = ++opened
      const names = { channelKey: `channel-${number}`, queueKey: `queue-${number}`, lockKey: `lock-${number}` }
      const queue = new RedisMessageQueue(() => new Redis(url), names)
      return { queue: queue as MessageQueue, close: async () => queue[Symbol.dispose]() }
    },
  },
]

export function inFolder(parent: string): { readonly folder: string; remove(): void } {
  const folder = mkdtempSync(join(parent, 'queue-'))
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
