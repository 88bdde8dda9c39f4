// The two Redis connections of a process, so that a blocked worker connection does not delay producers.

import { createRequire } from 'node:module'
import { HoldfastError } from 'holdfast'
import type { RedisStorageOptions } from 'holdfast/redis'

/** A client of iovalkey or ioredis, as holdfast/redis accepts it. */
export type RedisConnection = NonNullable<RedisStorageOptions['client']>

type ClientClass = new (url: string, options: object) => RedisConnection

const libraries = ['iovalkey', 'ioredis']

/** Makes a client that connects on its first use. @throws HoldfastError MISSING_DEPENDENCY */
export function openRedis(url: string): RedisConnection {
  const Client = loadClient()
  const connection = new Client(url, { maxRetriesPerRequest: null, lazyConnect: true })
  // Calls reject with the connection's errors. Without a listener the library would also print them.
  connection.on('error', () => {})
  return connection
}

/**
 * Loads the client library that is installed beside this package, or in the app. Synchronous, because the seed's getters are:
 * `holdfast/redis` imports it asynchronously.
 */
function loadClient(): ClientClass {
  const resolvers = [createRequire(import.meta.url), createRequire(`${process.cwd()}/package.json`)]
  for (const require of resolvers) {
    for (const library of libraries) {
      try {
        return (require(library) as { Redis: ClientClass }).Redis
      } catch (error) {
        if ((error as { code?: unknown }).code !== 'MODULE_NOT_FOUND') throw error
      }
    }
  }
  const message = 'REDIS_URL: no Redis client is installed. Run npm install iovalkey (or ioredis).'
  throw new HoldfastError('MISSING_DEPENDENCY', message, { package: 'iovalkey' })
}
