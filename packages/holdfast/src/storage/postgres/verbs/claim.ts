// claim: the fast path if no due job and no outcome needs a rule; otherwise the rules.

import { claim as applyClaim } from '../../rules/claim.ts'
import type { Claim, ClaimRequest, Offer } from '../../storage.ts'
import { fastClaim, maxClaimed } from '../fast/claim.ts'
import { plainOutcomes } from '../fast/outcomes.ts'
import { loadDue, loadLost } from '../rules/load-lists.ts'
import { wantOutcomes } from '../rules/load-request.ts'
import { keepLimited, loadRing, openLimited, type OpeningRows, openTypes } from '../rules/load-turns.ts'
import type { Loader } from '../rules/loader.ts'
import type { PostgresMove } from '../rules/move.ts'
import { encodeText } from '../sql/text.ts'
import { type OpenStorage, openReserved, runFast } from './open-storage.ts'
import { registerOutcomes } from './register-types.ts'

/** Expired leases that a claim reads, at least. */
const minLost = 100
/** Groups that a claim without turns reads beside one per slot: some of them may be at their limit. */
const spareGroups = 100

export async function claim(open: OpenStorage, request: ClaimRequest): Promise<Claim> {
  // Opened beside the first claim, so that the first heartbeat need not wait for it.
  if (!open.hasClaimed) openReserved(open)
  open.hasClaimed = true
  const { outcomes = [] } = request
  await registerOutcomes(open, outcomes, undefined, request.types)
  // What fast paths would leave to the rules is not tried: limits, and groups, if the last claim had one.
  const needsRules = request.types.some(({ type, limits }) => limits !== undefined || open.groupTypes.has(type))
  if (!needsRules) {
    const offer = offerToWrite(open, request)
    const claimed = await runFast(open, async (afterCommit) => {
      const plain = plainOutcomes(outcomes, afterCommit, open.leases, request.slots > 0)
      return plain && fastClaim(open, { ...request, outcomes: plain, offer }, afterCommit)
    })
    if (claimed) {
      if (offer) noteOffer(open, offer, request)
      return claimed
    }
  }
  await endOffer(open, request)
  return claimByRules(open, request)
}

/**
 * Only a claim of one type may offer slots. While scans from the head of the index take long, those of adds would, too: then nothing is
 * offered. An offer of no slots is written if there may be one that it ends.
 */
function offerToWrite({ offering, cursor }: OpenStorage, { offer, types }: ClaimRequest): Offer | undefined {
  if (!offer || types.length !== 1) return undefined
  const slots = cursor.activeMs > 0 ? 0 : offer.slots
  return slots > 0 || offering.has(offer.by) ? { ...offer, slots } : undefined
}

function noteOffer({ offering, offeredTypes }: OpenStorage, { by, slots }: Offer, { types }: ClaimRequest): void {
  if (slots === 0) return void offering.delete(by)
  offering.add(by)
  offeredTypes.add(types[0]!.type)
}

/** What the rules decide about is not handed over: this worker makes no offer, and an earlier one ends. */
async function endOffer({ offering, types, database, statements }: OpenStorage, request: ClaimRequest): Promise<void> {
  const { offer } = request
  if (!offer || !offering.delete(offer.by)) return
  await database.query(statements.endOffer, [types.tidOf(request.types[0]!.type)!, encodeText(offer.by)])
}

async function claimByRules(open: OpenStorage, request: ClaimRequest): Promise<Claim> {
  const { runner, types } = open
  const { outcomes = [], slots } = request
  const wanted = request.types.map(({ type, slots: own = Infinity, limits }) => ({
    tid: types.tidOf(type)!,
    limit: Math.min(own, slots, maxClaimed),
    limits,
    isLocked: limits !== undefined || open.groupTypes.has(type),
  }))
  const tidsOf = (some: typeof wanted): number[] => some.map(({ tid }) => tid)
  const capped = new Set(tidsOf(wanted.filter(({ limits }) => limits?.concurrency !== undefined)))
  const lost = wanted.map(({ tid, limit }) => ({ tid, limit: Math.max(limit, minLost) }))
  /** Whether all types are locked, as each of them would be by itself. */
  const areLocked = wanted.length > 0 && wanted.every(({ isLocked }) => isLocked)
  const openLocked = (loader: Loader): OpeningRows => openLimited(loader, lost, capped)
  const prepare = async (loader: Loader, opening?: OpeningRows): Promise<void> => {
    const { pauses, flows, running, lost: leases } = loader.loaded
    const isPaused = ({ tid }: { tid: number }): boolean => pauses.get(tid) !== undefined
    if (areLocked) {
      await keepLimited(loader, lost, opening ?? openLocked(loader))
    } else {
      await openTypes(loader, tidsOf(wanted), new Set(tidsOf(wanted.filter(({ isLocked }) => isLocked))), capped)
      await loadLost(
        loader,
        lost.filter((type) => !isPaused(type)),
        null,
      )
    }
    // Nothing of a type that is full or slowed can start, unless this call ends a job of it first.
    const isStopped = ({ tid, limits }: (typeof wanted)[number]): boolean =>
      (flows.get(tid)?.flow?.slowedUntil ?? 0) > loader.now ||
      (outcomes.length === 0 && running.get(tid)! >= (limits?.concurrency ?? Infinity) && leases.get(tid)!.length === 0)
    const claimed = wanted.filter((type) => !isPaused(type) && type.limit > 0 && !isStopped(type))
    const rings = claimed
      .filter(({ tid }) => flows.get(tid)?.isLocked && types.hasGroups(tid))
      .map(({ tid, limit, limits }) => {
        const byBest = limits?.group?.fair === false
        return { tid, limit: byBest ? limit + spareGroups : limit, byBest }
      })
    if (claimed.length > 0) await Promise.all([loadRing(loader, rings), loadDue(loader, claimed)])
  }
  const { answer, isRingPartial } = await runner.run({
    want: (loaded) => wantOutcomes(loaded, types, outcomes),
    // Rows of outcomes are locked before types, as in all other calls.
    ...(areLocked && outcomes.length === 0 ? { open: openLocked } : {}),
    prepare,
    rules: (move) => ({
      answer: claimAndCap(move, request),
      isRingPartial: move.set.loaded.isRingPartial,
    }),
    locksOnWrite: true,
  })
  if (isRingPartial && answer.jobs.length === 0) for (const { tid } of wanted) runner.rings.forget(tid)
  noteClaimed(open, request, answer)
  return answer
}

/** Ends of jobs that run under a concurrency must look for a full type. */
function claimAndCap(move: PostgresMove, request: ClaimRequest): Claim {
  const answer = applyClaim(move, request)
  const started = new Set(answer.jobs.map(({ type }) => type))
  for (const { type, limits } of request.types) {
    if (limits?.concurrency !== undefined && started.has(type)) move.set.flows.cap(move.typeOf(type)!)
  }
  return answer
}

/** Remembers what needs the rules next time. */
function noteClaimed({ leases, groupTypes }: OpenStorage, { types }: ClaimRequest, { jobs }: Claim): void {
  const capped = new Set(types.filter(({ limits }) => limits?.concurrency !== undefined).map(({ type }) => type))
  for (const { type } of types) groupTypes.delete(type)
  for (const job of jobs) {
    if (job.group !== undefined) groupTypes.add(job.type)
    const isLinked = job.chainIndex > 0 || job.blockers.length > 0 || job.group !== undefined
    if (isLinked || capped.has(job.type)) leases.add(job)
  }
}
