// recover: reads all jobs in processing, but records only the lost ones.

import { recover } from '../rules/recover.ts'
import type { MemoryJob, TypeData } from '../memory/data.ts'
import type { Recovered, RecoverRequest } from '../storage.ts'
import type { Turn } from './journal.ts'

export function recoverLost({ move, now, recording }: Turn, request: RecoverRequest): Recovered[] {
  const { olderThanMs = Infinity } = request
  const isLost = ({ lease }: MemoryJob): boolean => lease!.until <= now || now - lease!.startedAt > olderThanMs
  return recover(move, request, (type) => {
    const lost = [...(type as TypeData).leases].filter(isLost)
    for (const job of lost) recording.seen(job)
    return lost
  })
}
