// The address of a server for messages. It never contains a password.

import type { ResolvedRedisOptions } from '../redis-options.ts'
import { addressOf, isCluster } from './client.ts'

export function whereOf({
  client,
  url,
  host,
  port,
}: Pick<ResolvedRedisOptions, 'client' | 'url' | 'host' | 'port'>): string {
  if (client) return addressOf(client) ?? (isCluster(client) ? 'the cluster' : 'the client')
  if (url === undefined) return `${host}:${port}`
  const { hostname, port: given } = new URL(url)
  return `${hostname}:${given || '6379'}`
}
