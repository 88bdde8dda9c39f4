// What all contenders on Redis share: a private server without persistence per place, and its own statistics.

import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findRedis } from '../../servers/find.ts'
import { type RedisServer, startRedis } from '../../servers/redis.ts'
import { commandCalls, parseInfo, RespClient } from '../../servers/resp.ts'
import type { Calls, Contender, Session } from '../contender.ts'

/** The queue name of all contenders that have one: it may be part of every key. */
export const queueName = 'jobs'

/** For the configurations: all contenders use the same kind of server. */
export const redisServer = `private ${serverVersion()}, no persistence`

/** Time that the server takes to shrink connection buffers and to update their size, ms. */
const settleMs = 1_500

/** The server keeps a histogram per command, which would count as bytes of jobs. */
const args = ['--latency-tracking', 'no']

export interface PlaceOnRedis {
  readonly url: string
  readonly host: string
  readonly port: number
  /** Members of the session. */
  readonly observed: Pick<Session, 'calls'> & Required<Pick<Session, 'storedBytes'>>
}

/** The first caller at a place starts its server and writes its port into the place. */
export async function redisAt(place: string): Promise<PlaceOnRedis> {
  const note = join(place, 'redis-port')
  if (!existsSync(note)) writeFileSync(note, String((await startNext()).port))
  const port = Number(readFileSync(note, 'utf8'))
  return { url: `redis://127.0.0.1:${port}`, host: '127.0.0.1', port, observed: observe(port) }
}

export const redisUnavailable: NonNullable<Contender['unavailable']> = () =>
  findRedis() ? undefined : 'redis-server is not installed'

/** Version from the server itself: "Redis 7.0.15". */
function serverVersion(): string {
  const binary = findRedis()
  const said = binary && spawnSync(binary, ['--version'], { encoding: 'utf8' }).stdout
  const found = said ? /^(\w+) server v=(\S+)/.exec(said) : undefined
  return found ? `${found[1]} ${found[2]}` : 'Redis'
}

/** The server of this process, which ends with the process. */
let running: RedisServer | undefined

/** A new place ends the server of the previous one. */
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
        // This call is counted from the next read on.
        calls.set('info', (calls.get('info') ?? 0) - asked++)
        return Object.fromEntries(calls)
      }),
  }
}

/** Without connection buffers and scripts, whose size does not depend on the number of jobs. */
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
