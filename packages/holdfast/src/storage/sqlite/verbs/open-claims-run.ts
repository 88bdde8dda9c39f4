// The index of leases with the jobs of open claims among its own.

import { instant } from '../rules/job.ts'
import type { SqliteMove } from '../rules/move.ts'
import type { Entry, Key, Run } from './walk.ts'

export function withOpenClaims({ set }: SqliteMove, tid: number, isUp: boolean, run: Run): Run {
  const keys: (readonly [until: number, seq: number])[] = []
  for (const { lease, seqs } of set.claims.ofType({ tid }))
    for (const seq of seqs) keys.push([instant(lease.until), seq])
  if (keys.length === 0) return run
  const compare = (a: Key, b: Key): number => {
    const difference = a[0] === b[0] ? a[1] - b[1] : (a[0] as number) - (b[0] as number)
    return isUp ? difference : -difference
  }
  return {
    id: run.id,
    read: (after, limit) => {
      const open = keys.filter((key) => !after || compare(key, after) > 0)
      const all: { key: Key; entry?: Entry }[] = run.read(after, limit).map((entry) => ({ key: entry.key, entry }))
      all.push(...open.map((key) => ({ key })))
      all.sort((a, b) => compare(a.key, b.key))
      return all.slice(0, limit).map(({ key, entry }) => entry ?? { key, job: set.jobOf(key[1]) })
    },
  }
}
