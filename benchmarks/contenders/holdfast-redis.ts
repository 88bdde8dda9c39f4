import type { Storage } from 'holdfast'
import type { Contender } from '../contender.ts'
import { holdfastDefaults, holdfastSession } from '../sessions/holdfast.ts'
import { queueName, redisAt, redisServer, redisUnavailable } from '../sessions/redis.ts'

/** Not known to the compiler: it may not be there. */
const entry: string = 'holdfast/redis'

interface RedisDriver {
  readonly RedisStorage: new (options: { url: string; prefix: string }) => Storage
}

export const contender: Contender = {
  name: 'holdfast',
  driver: 'redis',
  package: 'holdfast',
  isPeer: false,
  isShared: true,
  configuration: `RedisStorage, ${redisServer}; ${holdfastDefaults}`,

  unavailable() {
    try {
      import.meta.resolve(entry)
      return redisUnavailable()
    } catch (error) {
      return (error as Error).message
    }
  },

  async setup(settings, place) {
    const { url, observed } = await redisAt(place)
    // The server counts, for all contenders alike.
    return { ...(await holdfastSession(await storageAt(url), { ...settings, countCalls: false })), ...observed }
  },

  openStorage: async (place) => storageAt((await redisAt(place)).url),
}

async function storageAt(url: string): Promise<Storage> {
  const { RedisStorage } = (await import(entry)) as RedisDriver
  return new RedisStorage({ url, prefix: queueName })
}
