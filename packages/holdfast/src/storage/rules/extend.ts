// extend: sets the end of the leases whose fence still matches, even of those that ran out.

import type { Extension, LeaseVerdict } from '../storage.ts'
import { keepReport } from './job/report.ts'
import { find, type Move } from './move.ts'
import { refusalOf } from './settle.ts'

export function extend(move: Move, leases: readonly Extension[]): LeaseVerdict[] {
  return leases.map((lease): LeaseVerdict => {
    const job = find(move, lease)
    if (!job || job.state !== 'processing' || job.lease!.worker !== lease.worker || job.attempt !== lease.attempt) {
      return { verdict: refusalOf(move, job) }
    }
    const until = move.now + lease.leaseMs
    job.lease = { ...job.lease!, until }
    move.place(job, 'leases')
    keepReport(move, job, lease)
    return job.cancelling ? { verdict: 'cancelling', until, reason: job.cancelReason } : { verdict: 'extended', until }
  })
}
