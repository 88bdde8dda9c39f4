import type { Contender } from '../contender.ts'
import { bullmqLimited } from '../limits/bullmq.ts'
import { bullmqDefaults, bullmqSession } from '../sessions/bullmq.ts'
import { queueName, redisAt, redisServer, redisUnavailable } from '../sessions/redis.ts'

export const contender: Contender = {
  name: 'bullmq',
  driver: 'redis',
  package: 'bullmq',
  isPeer: true,
  isShared: true,
  configuration: `ioredis 5, ${redisServer}; ${bullmqDefaults}; no auto-pipelining, with which its issue 457 reports errors`,
  unavailable: redisUnavailable,

  async setup(settings, place) {
    const { host, port, observed } = await redisAt(place)
    const session = await bullmqSession(await import('bullmq'), { host, port }, queueName, settings)
    return { ...session, ...observed }
  },

  limited: bullmqLimited(async (place) => {
    const { host, port } = await redisAt(place)
    return { classes: await import('bullmq'), connection: { host, port }, queueName }
  }),
}
