// For tests of what the driver stores: a server of their own, storages on it, and a direct connection.

import type { TestContext } from 'node:test'
import { RedisStorage } from 'holdfast/redis'
import type { RespClient } from '../../../../../servers/resp.ts'
import { startRedis } from '../../../../../servers/redis.ts'
import { clockKey, manualTimeScripts } from '../../redis-subject.ts'

export interface Fixture {
  readonly storage: RedisStorage
  readonly direct: RespClient
  /** Another storage, on a connection of its own. */
  another(): Promise<RedisStorage>
  /** Names of the keys, without the prefix. */
  keys(): Promise<string[]>
  /** Commands that the scripts of these calls send, with their keys and arguments. */
  commandsOf(run: () => Promise<unknown>): Promise<string[]>
  /** With a manual clock: sets the server's time. */
  setTime(at: number): Promise<void>
}

const prefix = 'p'

/** @param manualTime the clock is set by hand, and the server expires no key by itself */
export async function openStorage(t: TestContext, { manualTime = false } = {}): Promise<Fixture> {
  const server = await startRedis()
  t.after(() => server.stop())
  const direct = await server.connect()
  t.after(() => direct.close())
  const another = async (): Promise<RedisStorage> => {
    const storage = new RedisStorage({ url: server.url, prefix }, ...(manualTime ? [manualTimeScripts] : []))
    await storage.connect()
    t.after(() => storage.disconnect())
    return storage
  }
  return {
    storage: await another(),
    direct,
    another,
    keys: async () =>
      ((await direct.send('KEYS', `{${prefix}}:*`)) as string[]).map((key) => key.slice(prefix.length + 3)).toSorted(),
    commandsOf: async (run) => {
      const monitor = await server.connect()
      const lines: string[] = []
      const ended = Promise.withResolvers<void>()
      monitor.onPush = (line) => {
        if (String(line).includes('"the end"')) ended.resolve()
        lines.push(String(line))
      }
      await monitor.send('MONITOR')
      await run()
      await direct.send('ECHO', 'the end')
      await ended.promise
      monitor.close()
      return lines.filter((line) => line.includes(' lua] ')).map((line) => line.slice(line.indexOf('] ') + 2))
    },
    setTime: async (at) => void (await direct.send('SET', clockKey(prefix), String(at))),
  }
}
