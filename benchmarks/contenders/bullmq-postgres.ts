import type { Contender } from '../contender.ts'
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
    const { createPostgresBackend, withBackend } = await import('bullmq')
    const connection = { connectionString: url, migrate: true }
    const session = await bullmqSession(withBackend(createPostgresBackend), connection, queueName, settings)
    return { ...session, ...observed }
  },
}
