// cancel, revive, remove and pause in the reference.

import type {
  CancelOptions,
  CancelVerdict,
  JobRef,
  PauseRequest,
  RemoveOptions,
  RemoveVerdict,
  Revival,
  ReviveOptions,
  ReviveVerdict,
} from 'holdfast/storage'
import {
  dependentsOf,
  due,
  find,
  findChain,
  isEnded,
  isInForce,
  isSame,
  isWaiting,
  type Job,
  must,
  nameOf,
  nameOfRef,
  plain,
  same,
  sameInstant,
  sameRef,
  type Seen,
  show,
  tailOf,
  untilOf,
  type World,
} from '../reference.ts'
import { block } from './add.ts'
import { membersOf } from './limits.ts'
import { type Effects, recordAttempt, endChain, forget, goBehind, noEffects, sameEnded, sameRefs } from './end.ts'

export function cancel(
  world: World,
  refs: readonly JobRef[],
  options: CancelOptions,
  verdicts: readonly CancelVerdict[] | undefined,
): void {
  const effects = refs.map(() => noEffects())
  const expected = refs.map((ref, index) => cancelOne(world, find(world, ref), options, effects[index]!))
  if (!verdicts) return
  same('the number of verdicts of cancel', verdicts.length, refs.length)
  for (const [index, { verdict, ended = [] }] of verdicts.entries()) {
    sameEnded(ended, effects[index]!.ended)
    must(
      expected[index]!.includes(verdict),
      () => `cancel of ${show(refs[index])} answers ${verdict}, expected ${expected[index]!.join(' or ')}`,
    )
  }
}

function cancelOne(
  world: World,
  named: Job | undefined,
  options: CancelOptions,
  effects: Effects,
): CancelVerdict['verdict'][] {
  if (!named || (options.chains && named.index > 0)) return ['not_found']
  const job = options.chains ? tailOf(world, named) : named
  if (isEnded(job)) return [job.phase as 'completed' | 'failed' | 'cancelled']
  const runs = job.phase === 'processing'
  if (runs && !options.force) {
    if (!options.abort) return job.cancelling ? ['processing', 'cancelling'] : ['processing']
    job.cancelling = true
    job.cancelReasons.push(options.reason)
    return ['cancelling']
  }
  if (runs) recordAttempt(world, job, { outcome: 'cancelled', state: 'cancelled', error: undefined })
  job.cancelReasons.push(options.reason)
  endChain(world, job, { state: 'cancelled' }, effects)
  return ['cancelled']
}

export function revive(
  world: World,
  refs: readonly Revival[],
  options: ReviveOptions,
  verdicts: readonly ReviveVerdict[] | undefined,
  seen: Seen,
): void {
  const expected = refs.map((ref) => {
    const job = find(world, ref)
    if (job && isExcluded(job, options)) return 'not_revivable'
    const verdict = reviveOne(world, job, due(world, options), seen)
    if (ref.payload && (verdict === 'revived' || verdict === 'moved')) job!.payload = ref.payload
    return verdict
  })
  if (!verdicts) return
  for (const [index, ref] of refs.entries()) {
    same(`the verdict of revive for ${show(ref)}`, verdicts[index]?.verdict, expected[index])
  }
}

const isExcluded = (job: Job, { only }: ReviveOptions): boolean =>
  (only === 'waiting' && !isWaiting(job)) || (only === 'ended' && !isEnded(job))

function reviveOne(world: World, job: Job | undefined, runAt: number, seen: Seen): ReviveVerdict['verdict'] {
  if (!job) return 'not_found'
  if (isWaiting(job)) {
    goBehind(world, job, runAt)
    return 'moved'
  }
  if (job.phase !== 'failed' && job.phase !== 'cancelled') return 'not_revivable'
  // The job would wait forever.
  if (job.blockers.some(({ ref, done }) => !done && !findChain(world, ref))) return 'not_revivable'
  if (hasOtherKind(world, job) || !retakeKey(world, job.chain)) return 'conflict'
  // A blocker that is gone does not come back for it.
  for (const blocker of job.blockers) blocker.bound = false
  job.chain.expiresAt = Infinity
  job.failures = 0
  job.error = undefined
  job.reason = undefined
  job.cancelReasons = []
  job.holds = false
  goBehind(world, job, runAt)
  job.phase = 'waiting'
  if (job.blockers.length === 0) return 'revived'
  // A completed blocker with a new life since: the driver decides whether it counts again.
  const again = seen(job)?.state === 'blocked'
  for (const blocker of job.blockers) {
    const chain = findChain(world, blocker.ref)
    if (again && chain && tailOf(world, chain).phase !== 'completed') blocker.done = false
  }
  // The revival was explicit, so the job waits for a blocker that has failed.
  block(world, job, job.made.onBlockerFailure === 'run' ? 'run' : 'wait')
  return 'revived'
}

/** Unfinished jobs of its group are of the other kind by now. */
const hasOtherKind = (world: World, { type, made: { group } }: Job): boolean =>
  group !== undefined &&
  membersOf(world, type, group.key).some(({ made }) => (made.group?.ordered === true) !== (group.ordered === true))

function retakeKey(world: World, head: Job): boolean {
  const { mark } = head
  if (!mark || mark.shared || mark.mode === 'ascending') return true
  const name = nameOf(head.type, mark.key)
  const holder = world.marks.get(name)
  if (holder === mark) return true
  if (holder && isInForce(world, holder)) return false
  // A repeat of an add that replaced its payload in its earlier life is no longer recognised.
  if (world.now < untilOf(mark)) world.marks.set(name, (head.mark = { ...mark, replacedBy: undefined }))
  return true
}

export function remove(
  world: World,
  refs: readonly JobRef[],
  options: RemoveOptions,
  verdicts: readonly RemoveVerdict[] | undefined,
  seen: Seen,
): void {
  const expected = options.trees
    ? removeTrees(world, refs, seen)
    : refs.map((ref) => removeEnded(world, find(world, ref), options.afterMs))
  if (!verdicts) return
  same('the number of verdicts of remove', verdicts.length, refs.length)
  for (const [index, verdict] of verdicts.entries()) {
    const what = `the verdict of remove for ${show(refs[index])}`
    const wanted = expected[index]!
    same(what, verdict.verdict, wanted.verdict)
    if (verdict.verdict === 'kept' && wanted.verdict === 'kept') {
      const until = sameInstant(world, `${what}: until`, verdict.until, wanted.until)
      const head = world.jobs.get(nameOfRef(refs[index]!))
      if (head?.expiresAt === wanted.until) head.expiresAt = until
    }
    if (verdict.verdict === 'not_root' && wanted.verdict === 'not_root') sameRef(what, verdict.root, wanted.root)
    if (verdict.verdict === 'referenced' && wanted.verdict === 'referenced') sameRefs(what, verdict.by, wanted.by)
  }
}

function removeEnded(world: World, head: Job | undefined, afterMs: number | undefined): RemoveVerdict {
  if (!head) return { verdict: 'not_found' }
  if (head.index > 0) return { verdict: 'not_root', root: plain(head.chain) }
  if (!isEnded(tailOf(world, head))) return { verdict: 'not_terminal' }
  if (afterMs !== undefined) {
    head.expiresAt = world.now + afterMs
    head.keepMs = undefined
    return { verdict: 'kept', until: head.expiresAt }
  }
  const by = dependentsOf(world, head)
  if (by.length > 0) return { verdict: 'referenced', by }
  forget(world, head)
  return { verdict: 'removed' }
}

const isRoot = (job: Job): boolean => job.index === 0 && isSame(job.root, job)

function removeTrees(world: World, refs: readonly JobRef[], seen: Seen): RemoveVerdict[] {
  const roots = refs.map((ref) => find(world, ref)).filter((job) => job !== undefined && isRoot(job)) as Job[]
  const trees = new Map(roots.map((root) => [root, treeOf(world, root)]))
  const inside = new Set([...trees.values()].flat())
  const verdicts = refs.map((ref): RemoveVerdict => {
    const root = find(world, ref)
    if (!root) return { verdict: 'not_found' }
    if (!isRoot(root)) return { verdict: 'not_root', root: root.root }
    const by = trees.get(root)!.flatMap((chain) => dependentsOf(world, chain).filter((job) => !inside.has(job.chain)))
    return by.length > 0 ? { verdict: 'referenced', by: [...new Set(by)] } : { verdict: 'removed' }
  })
  if (verdicts.some(({ verdict }) => verdict !== 'removed')) {
    return verdicts.map((verdict) => (verdict.verdict === 'removed' ? { verdict: 'untouched' } : verdict))
  }
  for (const chain of inside) forget(world, chain)
  // A chain started below an earlier life of the root: the driver decides whether it still belongs to the tree.
  for (const job of world.jobs.values()) {
    if (!find(world, job) || job.index > 0 || seen(job)) continue
    if (roots.some((root) => isSame(root, job.root))) forget(world, job)
  }
  return verdicts
}

/** A chain and the chains that were started to block one of its jobs. */
function treeOf(world: World, root: Job): Job[] {
  const chains = [root]
  for (const chain of chains) {
    for (const job of world.jobs.values()) {
      if (job.chain !== chain) continue
      for (const { ref } of job.blockers) {
        const blocker = find(world, ref)
        if (blocker && isSame(blocker.root, root) && !chains.includes(blocker)) chains.push(blocker)
      }
    }
  }
  return chains
}

export function pause(world: World, { type, group, paused, by }: PauseRequest): void {
  const name = group === undefined ? undefined : nameOf(type, group)
  const before = name === undefined ? world.paused.get(type) : world.pausedGroups.get(name)
  const isOfPackage = by?.startsWith('@holdfast/') ?? false
  if (!paused) {
    // A package ends its own pause only.
    if (isOfPackage && before?.by !== by) return
    if (name === undefined) world.paused.delete(type)
    else world.pausedGroups.delete(name)
    return
  }
  // The first pause stays, unless it is a package's and an operator's follows.
  if (before && (isOfPackage || !before.by?.startsWith('@holdfast/'))) return
  const since = { since: world.now, by }
  if (name === undefined) world.paused.set(type, since)
  else world.pausedGroups.set(name, { ...since, type, group: group! })
}
