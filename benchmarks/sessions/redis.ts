// What all contenders on Redis share: a private server without persistence for each place, and what it says of itself.

import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findRedis } from '../../servers/find.ts'
import { type RedisServer, startRedis } from '../../servers/redis.ts'
import { commandCalls, parseInfo, RespClient } from '../../servers/resp.ts'
import type { Calls, Contender, Session } from '../contender.ts'

/** The same for all that give theirs a name: it may be part of every key. */
export const queueName = 'jobs'

/** For the configurations: the same server for all. */
export const redisServer = `private ${serverVersion()}, no persistence`

/** How long the server takes to shrink the buffers of connections, and to know what they hold. */
const settleMs = 1_500

/** It keeps a histogram for each command it ever ran, which would be taken for bytes of jobs. */
const args = ['--latency-tracking', 'no']

export interface PlaceOnRedis {
  readonly url: string
  readonly host: string
  readonly port: number
  /** For the session. */
  readonly observed: Pick<Session, 'calls'> & Required<Pick<Session, 'storedBytes'>>
}

/** Whoever comes to a place first starts its server; the place then says where that is. */
export async function redisAt(place: string): Promise<PlaceOnRedis> {
  const note = join(place, 'redis-port')
  if (!existsSync(note)) writeFileSync(note, String((await startNext()).port))
  const port = Number(readFileSync(note, 'utf8'))
  return { url: `redis://127.0.0.1:${port}`, host: '127.0.0.1', port, observed: observe(port) }
}

export const redisUnavailable: NonNullable<Contender['unavailable']> = () =>
  findRedis() ? undefined : 'there is no redis-server'

/** As it says itself: "Redis 7.0.15". */
function serverVersion(): string {
  const binary = findRedis()
  const said = binary && spawnSync(binary, ['--version'], { encoding: 'utf8' }).stdout
  const found = said ? /^(\w+) server v=(\S+)/.exec(said) : undefined
  return found ? `${found[1]} ${found[2]}` : 'Redis'
}

/** The one of this process; it ends with it, however that ends. */
let running: RedisServer | undefined

/** A place is used up once there is another. */
async function startNext(): Promise<RedisServer> {
  await running?.stop()
  return (running = await startRedis({ args }))
}

function observe(port: number): PlaceOnRedis['observed'] {
  let asked = 0
  return {
    storedBytes: () => withClient(port, storedBytes),
    calls: () =>
      withClient(port, async (client): Promise<Calls> => {
        const calls = await commandCalls(client)
        // Ours is counted from the next time on.
        calls.set('info', (calls.get('info') ?? 0) - asked++)
        return Object.fromEntries(calls)
      }),
  }
}

/** Without the buffers of connections and without scripts: they are as big for one job as for a million. */
async function storedBytes(client: RespClient): Promise<number> {
  await sleep(settleMs)
  const info = parseInfo(await client.send('INFO', 'memory'))
  const [used, connections, scripts] = ['used_memory', 'mem_clients_normal', 'used_memory_scripts_eval'].map((name) =>
    Number(info.get(name)),
  )
  return used! - connections! - scripts!
}

async function withClient<T>(port: number, run: (client: RespClient) => Promise<T>): Promise<T> {
  const client = await RespClient.connect(port)
  try {
    return await run(client)
  } finally {
    client.close()
  }
}
