// claim: the fast path if no due job and no outcome needs a rule; otherwise the rules.

import { claim as claimByRules } from '../../rules/claim.ts'
import type { Claim, ClaimRequest } from '../../storage.ts'
import { fastClaim, maxClaimed } from '../fast/claim.ts'
import { plainOutcomes } from '../fast/outcomes.ts'
import { loadDue, loadLost, loadPauses } from '../rules/load-lists.ts'
import { wantOutcomes } from '../rules/load-request.ts'
import type { Loader } from '../rules/loader.ts'
import { type OpenStorage, openReserved, runFast } from './open-storage.ts'
import { registerOutcomes } from './register-types.ts'

/** Expired leases that a claim reads, at least. */
const minLost = 100

export async function claim(open: OpenStorage, request: ClaimRequest): Promise<Claim> {
  // Opened beside the first claim, so that the first heartbeat need not wait for it.
  if (!open.hasClaimed) openReserved(open)
  open.hasClaimed = true
  const { outcomes = [] } = request
  await registerOutcomes(open, outcomes, undefined, request.types)
  const claimed = await runFast(open, async (afterCommit) => {
    const plain = plainOutcomes(outcomes, afterCommit, open.leases, request.slots > 0)
    return plain && fastClaim(open, { ...request, outcomes: plain }, afterCommit)
  })
  return claimed ?? claimLinked(open, request)
}

async function claimLinked({ runner, types, leases }: OpenStorage, request: ClaimRequest): Promise<Claim> {
  const { outcomes = [], slots } = request
  const wanted = request.types.map(({ type, slots: own = Infinity }) => ({
    tid: types.tidOf(type)!,
    limit: Math.min(own, slots, maxClaimed),
  }))
  const prepare = async (loader: Loader): Promise<void> => {
    await loadPauses(
      loader,
      wanted.map(({ tid }) => tid),
    )
    const unpaused = wanted.filter(({ tid }) => loader.loaded.pauses.get(tid) === undefined)
    await loadLost(
      loader,
      unpaused.map(({ tid, limit }) => ({ tid, limit: Math.max(limit, minLost) })),
      null,
    )
    await loadDue(
      loader,
      unpaused.filter(({ limit }) => limit > 0),
    )
  }
  const answer = await runner.run({
    want: (loaded) => wantOutcomes(loaded, types, outcomes),
    prepare,
    rules: (move) => claimByRules(move, request),
    locksOnWrite: true,
  })
  for (const job of answer.jobs) {
    if (job.chainIndex > 0 || job.blockers.length > 0 || job.group !== undefined) leases.add(job)
  }
  return answer
}
