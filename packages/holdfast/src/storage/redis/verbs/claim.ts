// claim: one call of lua/claim.ts, with the outcomes at hand.

import { checkClaim } from '../../check.ts'
import type { Claim, ClaimRequest } from '../../storage.ts'
import { claimedJob } from '../codec/claimed-job.ts'
import type { List } from '../codec/fields.ts'
import { packLimits } from '../codec/limits.ts'
import { encodeType, packed, packOutcomes } from '../codec/requests.ts'
import { Unpacker } from '../codec/unpack.ts'
import { endedOf, recoveredOf, settleVerdict } from '../codec/verdicts.ts'
import { dueAt } from './next-due-at.ts'
import { durable, type ScriptRunner } from './script-runner.ts'

/** Jobs that one call leases, at most. */
const mostSlots = 100_000

export async function claim(scripts: ScriptRunner, request: ClaimRequest): Promise<Claim> {
  checkClaim('redis', request)
  const { worker, label, slots, types, outcomes = [], offer } = request
  const wanted = types.map(({ type, leaseMs, slots: own, maxAttempts, limits }) => {
    return [type, leaseMs, own, maxAttempts, encodeType(type), packLimits(limits)]
  })
  const args = [packed([worker, label, Math.min(slots, mostSlots), wanted, offer && [offer.by, offer.slots]])]
  if (outcomes.length > 0) args.push(...packOutcomes(outcomes))
  // A claim alone need not be durable: a lost lease costs an attempt, never a job.
  const [first, ...records] = await scripts.runForList('claim', args, outcomes.length > 0 ? durable : undefined)
  const head = new Unpacker(first!)
  const size = head.list()
  const [now, settled, recovered, ended] = [head.next(), head.next(), head.next(), head.next()]
  const ids: string[] = []
  for (let left = head.list(); left > 0; left--) ids.push(head.text())
  const kinds = head.next()
  const due = size > 6 ? head.next() : undefined
  // In place of kinds, true: the records do not have the lease (lua/move/held.ts).
  const lease =
    kinds === true
      ? { worker, attempt: 1, startedAt: now as number, leaseUntil: (now as number) + types[0]!.leaseMs }
      : undefined
  return {
    jobs: ids.map((id, index) => {
      const { type } = types[Array.isArray(kinds) ? (kinds as number[])[index]! - 1 : 0]!
      return claimedJob(type, id, records[index]!, lease)
    }),
    recovered: (recovered as List).map(recoveredOf),
    ended: (ended as List).map(endedOf),
    settled: (settled as List).map(settleVerdict),
    nextDue: due === undefined ? undefined : dueAt(due, now),
  }
}
