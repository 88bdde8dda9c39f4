// For tests of the connection layer: the client libraries, scripts, and calls that are repeated as the guard does.

import { createHash } from 'node:crypto'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type RedisOptions, type RedisServer, startRedis } from '../../../../../servers/redis.ts'
import type { StorageError } from '../../../src/errors.ts'
import type { ClientClass } from '../../../src/storage/redis/connection/make-client.ts'
import { Connection } from '../../../src/storage/redis/connection/connection.ts'
import type { ConnectionOptions } from '../../../src/storage/redis/connection/server-links.ts'
import { type RedisStorageOptions, resolveRedisOptions } from '../../../src/storage/redis/redis-options.ts'
import { isFull } from '../../full-size.ts'

interface Library {
  readonly name: string
  load(): Promise<ClientClass>
}

export const libraries: readonly Library[] = [
  { name: 'iovalkey', load: async () => (await import('iovalkey')).Redis as unknown as ClientClass },
  { name: 'ioredis 6', load: async () => (await import('ioredis')).Redis as unknown as ClientClass },
  // The version before, for which `npm test` has the cases of the contract about connections and hints.
  ...(isFull
    ? [{ name: 'ioredis 5', load: async () => (await import('ioredis5')).Redis as unknown as ClientClass }]
    : []),
]

export const scriptOf = (source: string): { name: string; source: string; sha: string } => ({
  name: 'test',
  source,
  sha: createHash('sha1').update(source).digest('hex'),
})

/** Sets a key, publishes a message, and answers with its argument. */
export const write = scriptOf(`#!lua flags=allow-oom
redis.call('SET', KEYS[1] .. ':x', ARGV[1])
redis.call('PUBLISH', KEYS[1] .. ':messages', ARGV[1])
return ARGV[1]`)

/** The server refuses it when memory is full. */
export const add = scriptOf(`#!lua
return redis.call('SET', KEYS[1] .. ':y', ARGV[1])`)

export async function server(t: TestContext, options?: RedisOptions): Promise<RedisServer> {
  const started = await startRedis(options)
  t.after(() => started.stop())
  return started
}

export function connection(
  t: TestContext,
  options: RedisStorageOptions & Pick<ConnectionOptions, 'onFinding'>,
  load?: () => Promise<ClientClass>,
): Connection {
  const { onFinding, ...given } = options
  const made = new Connection({ ...resolveRedisOptions(given), onFinding }, load)
  t.after(() => made.close())
  return made
}

/** Repeats a call that rejects with a transient error, as the guard does. Other errors and a timeout reject. */
export async function eventually<T>(call: () => Promise<T>, limitMs = 30_000): Promise<T> {
  const end = performance.now() + limitMs
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if ((error as StorageError).transient !== true || performance.now() > end) throw error
    }
    await sleep(20)
  }
}

export async function until(done: () => boolean | Promise<boolean>, limitMs = 30_000): Promise<void> {
  const end = performance.now() + limitMs
  while (!(await done())) {
    if (performance.now() > end) throw new Error(`not within ${limitMs} ms`)
    await sleep(10)
  }
}

/** Resolves once a replica acknowledges writes. One that is online may still load its first copy. */
export async function replicated({ connect }: RedisServer): Promise<void> {
  const inspector = await connect()
  await until(async () => {
    await inspector.send('SET', 'test', '')
    await inspector.send('DEL', 'test')
    return (await inspector.send('WAIT', '1', '100')) === 1
  }, 30_000)
  inspector.close()
}
