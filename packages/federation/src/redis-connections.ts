// The two Redis connections of a process: producers never wait behind a worker's.

import { createRequire } from 'node:module'
import { HoldfastError } from 'holdfast'
import type { RedisStorageOptions } from 'holdfast/redis'

/** A client of iovalkey or ioredis, as holdfast/redis takes it. */
export type RedisConnection = NonNullable<RedisStorageOptions['client']>

type ClientClass = new (url: string, options: object) => RedisConnection

const libraries = ['iovalkey', 'ioredis']

/** Connects when it is used. */
export function openRedis(url: string): RedisConnection {
  const Client = loadClient()
  const connection = new Client(url, { maxRetriesPerRequest: null, lazyConnect: true })
  // Whoever uses it hears of its errors by its calls; without a listener they would be printed.
  connection.on('error', () => {})
  return connection
}

/** At once, and only on demand: from what is installed beside us, or in the app. */
function loadClient(): ClientClass {
  const places = [createRequire(import.meta.url), createRequire(`${process.cwd()}/package.json`)]
  for (const require of places) {
    for (const library of libraries) {
      try {
        return (require(library) as { Redis: ClientClass }).Redis
      } catch (error) {
        if ((error as { code?: unknown }).code !== 'MODULE_NOT_FOUND') throw error
      }
    }
  }
  const message = 'a Redis client is needed: npm install iovalkey (or ioredis)'
  throw new HoldfastError('MISSING_DEPENDENCY', message, { package: 'iovalkey' })
}
