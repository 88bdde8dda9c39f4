// Commands of an operator that disturb every client of a Redis server: connections are ended, scripts forgotten, writes held up.

import type { RedisServer } from '../servers/redis.ts'
import type { Reply } from '../servers/resp.ts'

const disturbances = [
  ['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'],
  ['CLIENT', 'KILL', 'TYPE', 'pubsub'],
  ['SCRIPT', 'FLUSH'],
  ['CLIENT', 'PAUSE', '200', 'WRITE'],
] as const

/** @param drawn 0 … 1 */
export async function disturbRedis(server: RedisServer, drawn: number): Promise<boolean> {
  await askRedis(server, ...disturbances[Math.floor(drawn * disturbances.length)]!)
  return true
}

export async function askRedis(server: RedisServer, ...words: readonly string[]): Promise<Reply> {
  const client = await server.connect({ timeoutMs: 2_000 })
  try {
    return await client.send(...words)
  } finally {
    client.close()
  }
}
