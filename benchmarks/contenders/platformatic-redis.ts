import { setTimeout as sleep } from 'node:timers/promises'
import type { Contender } from '../contender.ts'
import { platformaticDefaults, platformaticSession } from '../sessions/platformatic.ts'
import { redisAt, redisServer, redisUnavailable } from '../sessions/redis.ts'

/** The server removes expired keys by itself, ten times a second. */
const expiryMs = 500

/** Its stop may wait so long for a job that is not running. */
const longestLeaseMs = 3_000

export const contender: Contender = {
  name: '@platformatic/job-queue',
  driver: 'redis',
  package: '@platformatic/job-queue',
  isPeer: true,
  isShared: true,
  configuration: `RedisStorage (iovalkey), ${redisServer}; ${platformaticDefaults}; visibilityTimeout 3 s, for which its stop may wait`,
  unavailable: redisUnavailable,

  async setup(settings, place) {
    const { url, observed } = await redisAt(place)
    const { RedisStorage } = await import('@platformatic/job-queue')
    const session = await platformaticSession(new RedisStorage({ url }), {
      ...settings,
      leaseMs: Math.min(settings.leaseMs, longestLeaseMs),
      countCalls: false,
    })
    return {
      ...session,
      // States are removed only when they are read, and nothing reads them.
      sweep: () => sleep(expiryMs),
      ...observed,
    }
  },
}
