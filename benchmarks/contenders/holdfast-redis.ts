import type { Storage } from 'holdfast'
import type { Contender } from '../contender.ts'
import { holdfastDefaults, holdfastSession } from '../sessions/holdfast.ts'
import { queueName, redisAt, redisServer, redisUnavailable } from '../sessions/redis.ts'

/** Not resolved by the compiler: the driver may be missing. */
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
  configuration: `RedisStorage, durability relaxed, ${redisServer}; ${holdfastDefaults}; bulk: a thousand calls of enqueue() at once`,

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
    // The server counts, in the same way for all contenders.
    const session = await holdfastSession(await storageAt(url), { ...settings, countCalls: false })
    return {
      ...session,
      // Holdfast has no bulk call: adds of one turn of the event loop go to the storage together.
      async addMany(jobs) {
        await Promise.all(jobs.map(({ id, payload }) => session.add(id, payload)))
      },
      ...observed,
    }
  },

  openStorage: async (place) => storageAt((await redisAt(place)).url),
}

async function storageAt(url: string): Promise<Storage> {
  const { RedisStorage } = (await import(entry)) as RedisDriver
  return new RedisStorage({ url, prefix: queueName })
}
