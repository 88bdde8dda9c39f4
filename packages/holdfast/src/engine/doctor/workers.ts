// Workers that endanger their own jobs, by what they say about themselves.

import type { Finding } from '../../storage/storage.ts'
import type { WorkerInfo } from '../work/presence.ts'

/** A lease is renewed at a third of it: a loop that stalls for longer may miss two renewals. */
const leasePerStall = 3

export function workerFindings(workers: readonly WorkerInfo[]): Finding[] {
  return [...sharedIds(workers), ...workers.flatMap(shortLease), ...workers.flatMap(smallPool)]
}

function sharedIds(workers: readonly WorkerInfo[]): Finding[] {
  const byLabel = Map.groupBy(workers, ({ label }) => label)
  return [...byLabel].flatMap(([label, all]): Finding[] => {
    // The workers of one process may have one name.
    const processes = new Set(all.map(({ host, pid }) => `${host}, process ${pid}`))
    if (processes.size < 2) return []
    return [
      {
        code: 'worker_id_shared',
        severity: 'warning',
        sentence: `${processes.size} processes call their worker '${label}': ${[...processes].join('; ')}`,
        fix: 'Give each a `workerId` of its own, so that attempts and logs tell them apart. Fencing does not depend on it.',
      },
    ]
  })
}

function shortLease({ label, leaseMs, loopDelayMs }: WorkerInfo): Finding[] {
  if (leaseMs === undefined || leaseMs >= leasePerStall * loopDelayMs) return []
  return [
    {
      code: 'lease_too_short',
      severity: 'error',
      sentence: `the event loop of worker '${label}' was blocked for ${loopDelayMs} ms, and its lease is ${leaseMs} ms`,
      fix: `Move CPU-bound work out of the process, or raise \`leaseMs\` to at least ${leasePerStall * loopDelayMs}: else jobs run twice.`,
    },
  ]
}

/** Only jobs of chains have such transactions: those of other faces hold no connection while a handler runs. */
function smallPool({ label, types, concurrency, transactions = Infinity }: WorkerInfo): Finding[] {
  if (concurrency <= transactions || !types.some(({ face }) => face === 'chain')) return []
  return [
    {
      code: 'pool_too_small',
      severity: 'warning',
      sentence: `worker '${label}' runs up to ${concurrency} handlers at a time, and its pool has connections for the transactions of ${transactions}`,
      fix: `Raise \`poolSize\` of the storage to at least ${concurrency + 2}, or lower \`concurrency\`: handlers wait for a connection.`,
    },
  ]
}
