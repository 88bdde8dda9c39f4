// Keys and the slots of a cluster.

import { isCluster, type RedisClient } from './client.ts'

/** The part of a key that decides its slot. */
export function hashTag(key: string): string {
  const from = key.indexOf('{')
  const to = from < 0 ? -1 : key.indexOf('}', from + 1)
  return to > from + 1 ? key.slice(from + 1, to) : key
}

/**
 * The key arguments of a script: their number, then the key. A cluster is given a second key, and neither exists. While the
 * slot moves to another node, key by key, the server then refuses the command until all keys are moved (TRYAGAIN). With one
 * key it would redirect the command, and the script would run there on the part of the data that has arrived.
 */
export const keyArguments = (client: RedisClient, key: string): string[] =>
  isCluster(client) ? ['2', key, `${key}-`] : ['1', key]
