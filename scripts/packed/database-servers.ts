// One Postgres and one Redis for all steps, started when the first step asks. They end with this process.

import { installPostgres, installRedis } from '../../servers/install.ts'
import { type PostgresServer, startPostgres } from '../../servers/postgres.ts'
import { type RedisServer, startRedis } from '../../servers/redis.ts'

let postgres: Promise<PostgresServer> | undefined
let redis: Promise<RedisServer> | undefined

export function startedPostgres(): Promise<PostgresServer> {
  if (!postgres) installPostgres()
  return (postgres ??= startPostgres())
}

export function startedRedis(): Promise<RedisServer> {
  if (!redis) installRedis()
  return (redis ??= startRedis())
}

export async function stopServers(): Promise<void> {
  await Promise.all([postgres, redis].map(async (server) => (await server)?.stop()))
}
