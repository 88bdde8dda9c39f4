// extend: keep the leases whose fence still matches, whether or not their time was over.

import type { Extension, LeaseVerdict } from '../storage.ts'
import type { Move } from './move.ts'
import { refusalOf } from './settle.ts'
import { leaveHeap, stand } from './waiting.ts'

export function extend(move: Move, leases: readonly Extension[]): LeaseVerdict[] {
  return leases.map((lease): LeaseVerdict => {
    const job = move.find(lease)
    if (!job || job.state !== 'processing' || job.lease!.worker !== lease.worker || job.attempt !== lease.attempt) {
      return { verdict: refusalOf(move, job) }
    }
    leaveHeap(job)
    job.lease = { ...job.lease!, until: move.now + lease.leaseMs }
    stand(job, job.type.leases)
    return job.cancelling
      ? { verdict: 'cancelling', until: job.leaseUntil, reason: job.cancelReason }
      : { verdict: 'extended', until: job.leaseUntil }
  })
}
