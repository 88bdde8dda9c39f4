// Findings about a Redis server, from what it reports about itself. What open() would refuse may have changed since.

import type { Finding } from '../../storage.ts'
import type { ServerFacts } from './server-facts.ts'

export function serverFindings({ maxmemory, maxmemoryPolicy, aof, isReplica }: ServerFacts): Finding[] {
  const findings: Finding[] = []
  if (maxmemoryPolicy !== undefined && maxmemoryPolicy !== 'noeviction') {
    const isLimited = maxmemory !== undefined && maxmemory > 0
    findings.push({
      code: 'eviction',
      severity: isLimited ? 'error' : 'warning',
      sentence: `the server's maxmemory-policy is ${maxmemoryPolicy}: it ${isLimited ? 'deletes' : 'would delete'} jobs when memory is full`,
      fix: 'Set maxmemory-policy to noeviction.',
    })
  }
  if (aof === false) {
    findings.push({
      code: 'persistence_off',
      severity: 'warning',
      sentence:
        'the server keeps no append-only file: a restart loses the jobs since its last snapshot, or all of them',
      fix: 'Set appendonly to yes, and appendfsync to everysec or always.',
    })
  }
  if (isReplica) {
    findings.push({
      code: 'replica',
      severity: 'error',
      sentence: 'the server is a replica, which refuses writes',
      fix: 'Connect to the primary.',
    })
  }
  return findings
}
