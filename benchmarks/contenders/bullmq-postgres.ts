import type { Contender } from '../contender.ts'
import { bullmqLimited } from '../limits/bullmq.ts'
import { bullmqDefaults, bullmqSession } from '../sessions/bullmq.ts'
import { postgresAt, postgresServer, postgresUnavailable, queueName } from '../sessions/postgres.ts'

export const contender: Contender = {
  name: 'bullmq',
  driver: 'postgres',
  package: 'bullmq',
  isPeer: true,
  isShared: true,
  durability: 'full',
  configuration: `pg 8, ${postgresServer}; its PostgreSQL backend, the pool of 10 that pg makes by default; ${bullmqDefaults}`,
  unavailable: postgresUnavailable,

  async setup(settings, place) {
    const { url, observed } = await postgresAt(place, settings)
    const { classes, connection } = await backendAt(url)
    const session = await bullmqSession(classes, connection, queueName, settings)
    return { ...session, ...observed }
  },

  limited: bullmqLimited(async (place) => {
    const { url } = await postgresAt(place, { countCalls: false })
    return { ...(await backendAt(url)), queueName }
  }),
}

async function backendAt(url: string) {
  const { createPostgresBackend, withBackend } = await import('bullmq')
  return { classes: withBackend(createPostgresBackend), connection: { connectionString: url, migrate: true } }
}
