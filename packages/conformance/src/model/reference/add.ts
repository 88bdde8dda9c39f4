// add in the reference: ids first, then keys, then blockers; the jobs in order.
// Longer than most files: each decision depends on the one before.

import type { AddVerdict, JobRef, JobState, NewJob, OnBlockerFailure } from 'holdfast/storage'
import {
  due,
  find,
  findChain,
  isEnded,
  isFree,
  isGone,
  isGonePart,
  isInForce,
  isReplaceable,
  isSame,
  type Job,
  type Mark,
  must,
  nameOf,
  nameOfRef,
  plain,
  same,
  sameBytes,
  sameRef,
  type Seen,
  show,
  stateOf,
  tailOf,
  untilOf,
  type World,
} from '../reference.ts'
import { endChain, forget, noEffects, unblock } from './end.ts'
import { type Refusal, refusalIn, refusalOf } from './refuse.ts'
import { firstDue, followedBy, onHeldKey, takeKey } from './key.ts'

/** The expected verdict. Without a state: the contract leaves it open. */
type Expected =
  | {
      verdict: 'added' | 'replaced' | 'duplicate'
      by?: 'id' | 'key'
      job: JobRef & { token: string; state?: JobState; of?: Job }
    }
  | { verdict: 'skipped' }
  | { verdict: 'stale'; version: number }
  | { verdict: 'blocker_not_found'; missing: readonly JobRef[] }
  | Refusal

/**
 * @param verdicts undefined: the reply was lost
 * @param outcome if an outcome adds these jobs: the job that the first one continues, and the chains that existed
 *   before it, among which its blockers are searched
 */
export function add(
  world: World,
  jobs: readonly NewJob[],
  verdicts: readonly AddVerdict[] | undefined,
  seen: Seen,
  outcome?: { readonly predecessor: Job | undefined; readonly before: readonly Job[] },
): void {
  const missing = outcome
    ? new Map<string, JobRef[]>()
    : missingBlockers(world, jobs, (index) => verdicts?.[index]?.verdict === 'blocker_not_found')
  const expected: Expected[] = []
  const created: (Job | undefined)[] = []
  const marksBefore = new Set(world.marks.values())
  const replaced = new Set<Job>()
  /** By token: the refusal of several jobs, decided with the first of them. */
  const refused = new Map<string, Refusal | undefined>()
  const repeats = new Set<string>()
  const refusalOfToken = (index: number): Refusal | undefined => {
    const { token } = jobs[index]!
    const own = jobs.filter((job) => job.token === token)
    if (own.length === 1) return undefined
    if (!refused.has(token)) {
      const isKnown = own.some((job) => find(world, job)?.made.token === token)
      if (isKnown) repeats.add(token)
      refused.set(token, isKnown ? undefined : refusalIn(world, own))
    }
    return refused.get(token)
  }
  const isAdded = (index: number): boolean => created[index] !== undefined || expected[index]?.verdict === 'added'
  // Chains that existed before this call can be named as blockers, even if a job that it replaces was the last that kept one.
  const before = outcome?.before ?? [...world.jobs.values()].filter((job) => job.index === 0 && find(world, job))
  for (const [index, made] of jobs.entries()) {
    if (missing.has(made.token)) {
      expected.push({ verdict: 'blocker_not_found', missing: missing.get(made.token)! })
      continue
    }
    const together = refusalOfToken(index)
    if (together) {
      expected.push(together)
      continue
    }
    const blocked = jobs.flatMap(({ blockers }, position) => (blockers?.includes(index) ? [position] : []))
    const origin = blocked.map((position) => created[position]).find((job) => job !== undefined)
    const repeated = !origin && blocked.some(isAdded)
    if (blocked.length > 0 && !origin && !repeated) {
      expected.push({ verdict: 'skipped' })
      continue
    }
    const again = jobs.some((other, at) => isAdded(at) && other.token === made.token && isSame(other, made))
    const given = verdicts?.[index]
    const continues = index === 0 && outcome?.predecessor !== undefined
    const verdict = conflictingJob(world, made, {
      before: outcome?.before ?? [],
      marksBefore,
      replaced,
      again,
      continues,
      repeated,
      seen,
      given,
    })
    if (verdict) {
      expected.push(verdict)
      continue
    }
    // A repeat may add a job that was a duplicate before.
    const isAlone = repeats.has(made.token) || jobs.filter(({ token }) => token === made.token).length === 1
    const alone = isAlone ? refusalOf(world, made, find(world, made)) : undefined
    if (alone) {
      must(!outcome, () => `an outcome was accepted although ${show(made.id)} is refused: ${show(alone)}`)
      expected.push(alone)
      continue
    }
    const live = find(world, made)
    const replaces = live !== undefined && isReplaceable(world, made, live)
    const job = create(world, made, {
      predecessor: continues ? outcome.predecessor : undefined,
      origin,
      follows: continues ? undefined : followedBy(world, made),
    })
    created[index] = job
    expected.push({ verdict: replaces ? 'replaced' : 'added', job: { ...plain(job), token: made.token, of: job } })
  }
  // Blockers come after the jobs they block.
  for (const [index, job] of [...created.entries()].toReversed()) {
    if (!job?.made.blockers) continue
    const refs = job.follows ? [plain(job.follows)] : refsOfBlockers(world, jobs, index, expected)
    job.blockers = refs.map((ref) => ({ ref, done: false, bound: false }))
    block(world, job, job.made.onBlockerFailure ?? 'fail', [...created, ...before])
  }
  if (verdicts) sameVerdicts(world, verdicts, expected, replaced)
}

/**
 * Missing blockers by token. A job that is known already needs none.
 * @param forgotten also check jobs that are known and gone
 * @param chains the chains that jobs of the batch start
 */
export function missingBlockers(
  world: World,
  jobs: readonly NewJob[],
  forgotten: (index: number) => boolean,
  chains: readonly NewJob[] = jobs,
): Map<string, JobRef[]> {
  const missing = new Map<string, JobRef[]>()
  for (const [index, job] of jobs.entries()) {
    const { token, blockers = [] } = job
    const comes = (ref: JobRef): boolean =>
      chains.some((other) => other !== job && other.token === token && isSame(other, ref))
    const refs = blockers.filter(
      (blocker) => typeof blocker !== 'number' && !findChain(world, blocker) && !comes(blocker),
    )
    const known = world.jobs.get(nameOfRef(job))
    const isKnown = known?.made.token === token && (find(world, known) !== undefined || !forgotten(index))
    if (refs.length > 0 && !isKnown) missing.set(token, [...(missing.get(token) ?? []), ...(refs as JobRef[])])
  }
  return missing
}

interface AddContext {
  /** The chains that existed before the outcome that adds this job. */
  readonly before: readonly Job[]
  readonly marksBefore: ReadonlySet<Mark>
  /** The jobs whose payload this call replaced. */
  readonly replaced: Set<Job>
  /** The call named this job already. */
  readonly again: boolean
  /** The job has the key of its chain. */
  readonly continues: boolean
  /** The job blocks a job that existed before this call. */
  readonly repeated: boolean
  readonly seen: Seen
  readonly given: AddVerdict | undefined
}

function conflictingJob(
  world: World,
  made: NewJob,
  { before, marksBefore, replaced: replacedJobs, again, continues, repeated, seen, given }: AddContext,
): Expected | undefined {
  const { token } = made
  const existing = world.jobs.get(nameOfRef(made))
  if (existing?.made.token === token) {
    if (!isGone(world, existing))
      return standing(world, existing, again ? 'duplicate' : 'added', again ? 'id' : undefined)
    // The record of the first add has expired: recognised or decided again, both are legal.
    const known = { ...plain(made), token }
    if (again && given?.verdict === 'duplicate' && given.by === 'id')
      return { verdict: 'duplicate', by: 'id', job: known }
    const record = seen(made)
    const isNew = record?.token === token && (given?.verdict !== 'added' || given.job.state === record.state)
    if ((!given || given.verdict === 'added') && !isNew) return { verdict: 'added', job: known }
  }
  const replaced = isFree(world, made) ? undefined : existing!
  if (replaced && !isReplaceable(world, made, replaced)) return standing(world, replaced, 'duplicate', 'id')
  // A job that is removed in this move may still count or not: both are legal.
  const isTold = (by: 'id' | 'key'): boolean =>
    given ? given.verdict === 'duplicate' && given.by === by : seen(made)?.token !== token
  const isGoing = (chain: Job): boolean => before.includes(chain) && isKnown(world, chain) && isGone(world, chain)
  if (existing && isGoing(existing.chain) && isTold('id')) {
    return { verdict: 'duplicate', by: 'id', job: { ...plain(existing), token: existing.made.token, of: existing } }
  }
  const wanted = continues ? undefined : made.deduplication
  const held = wanted && world.marks.get(nameOf(made.type, wanted.key))
  const repeat: Expected = { verdict: 'added', job: { ...plain(made), token } }
  if (wanted?.mode === 'ascending' && held?.mode === 'ascending') {
    const isAbove = world.now >= untilOf(held) || wanted.version > held.version
    if (isAbove) return repeated ? repeat : undefined
    const isOwn = held.first.made.token === token && isSame(held.first, made)
    return isOwn ? repeat : { verdict: 'stale', version: held.version }
  }
  // The key of a job that gives way is free.
  const mark = held && held.first === replaced && !held.shared ? undefined : held
  if (mark && (isInForce(world, mark) || (isGoing(mark.first) && isTold('key')))) {
    const { first } = mark
    const ownRepeat = first.made.token === token && (mark.shared ? marksBefore.has(mark) : isSame(first, made))
    if (ownRepeat) return repeat
    if (!mark.shared || first.made.token !== token) {
      const gone = mark.orphaned || isGone(world, first)
      if (!gone) {
        const verdict = onHeldKey(world, made, mark, replacedJobs)
        if (verdict !== 'added') return standing(world, first, verdict, verdict === 'duplicate' ? 'key' : undefined)
        return repeated ? repeat : undefined
      }
      const job = { ...plain(first), token: first.made.token }
      if (isGoing(first)) return { verdict: 'duplicate', by: 'key', job: { ...job, of: first } }
      return { verdict: 'duplicate', by: 'key', job: { ...job, state: 'completed' } }
    }
  }
  return repeated ? repeat : undefined
}

function standing(world: World, job: Job, verdict: 'added' | 'replaced' | 'duplicate', by?: 'id' | 'key'): Expected {
  const shown = job.index === 0 ? tailOf(world, job) : job
  // The state of a job of the same batch is not decided yet.
  const state = shown.order.move === world.moves && job.attempt === 0 ? undefined : stateOf(world, shown)
  return { verdict, by, job: { ...plain(job), token: job.made.token, state, of: job } }
}

interface Relatives {
  readonly predecessor: Job | undefined
  readonly origin: Job | undefined
  readonly follows: Job | undefined
}

function create(world: World, added: NewJob, { predecessor, origin, follows }: Relatives): Job {
  const made: NewJob = follows ? { ...added, blockers: [plain(follows)], onBlockerFailure: 'run' } : added
  const replaced = world.jobs.get(nameOfRef(made))
  if (replaced && isGonePart(world, replaced)) world.jobs.delete(nameOfRef(made))
  else if (replaced) forget(world, replaced.chain)
  const accepted = ++world.accepted
  const before = predecessor ?? origin
  const job = {
    ...plain(made),
    made,
    phase: made.blockers ? 'blocked' : 'waiting',
    payload: made.payload,
    attempt: 0,
    failures: 0,
    snoozes: 0,
    createdAt: world.now,
    accepted,
    runAt: predecessor ? due(world, made) : firstDue(world, made),
    order: { move: world.moves, place: accepted, loose: false },
    startedAt: 0,
    leaseUntil: 0,
    worker: undefined,
    label: undefined,
    cancelling: false,
    cancelReasons: [],
    attempts: [],
    reason: undefined,
    result: undefined,
    error: undefined,
    finishedAt: 0,
    endedIn: 0,
    index: predecessor ? predecessor.index + 1 : 0,
    root: before?.root ?? plain(made),
    origin: before && plain(before),
    deadlineAt: made.expiresInMs === undefined ? Infinity : world.now + made.expiresInMs,
    progress: undefined,
    log: [],
    blockers: [],
    follows,
    partExpiresAt: Infinity,
    expiresAt: Infinity,
    keepMs: undefined,
    mark: undefined,
    holds: false,
  } as unknown as Job
  Object.assign(job, { chain: predecessor?.chain ?? job })
  if (made.group) world.grouped.add(made.type)
  world.jobs.set(nameOfRef(made), job)
  if (!predecessor && made.deduplication) takeKey(world, job, made.deduplication)
  return job
}

/** A blocker of the batch that was not added stands for the existing chain. A stale one is left out. */
function refsOfBlockers(world: World, jobs: readonly NewJob[], index: number, expected: readonly Expected[]): JobRef[] {
  const refs: JobRef[] = []
  const { blockers, token } = jobs[index]!
  for (const blocker of blockers!) {
    let ref = typeof blocker === 'number' ? plain(jobs[blocker]!) : plain(blocker)
    const sibling = jobs.findIndex((other) => other.token === token && isSame(other, ref))
    const verdict = expected[typeof blocker === 'number' ? blocker : sibling]
    if (verdict?.verdict === 'stale') continue
    if (verdict?.verdict === 'duplicate' || verdict?.verdict === 'replaced')
      ref = plain(find(world, verdict.job)?.chain ?? verdict.job)
    refs.push(ref)
  }
  return refs
}

/** Decides the first state of a job with blockers: blocked, due, or failed with one of them. */
export function block(
  world: World,
  job: Job,
  onFailure: OnBlockerFailure,
  fresh: readonly (Job | undefined)[] = [],
): void {
  let failed = false
  for (const blocker of job.blockers) {
    // A blocker that ended in this move still counts, even if no other job keeps it.
    const chain =
      findChain(world, blocker.ref) ?? fresh.find((head) => head && isSame(head, blocker.ref) && isKnown(world, head))
    blocker.bound = chain !== undefined
    // The key outlived its record, so the job was completed.
    if (!chain) blocker.done = true
    else if (isEnded(tailOf(world, chain))) {
      if (onFailure === 'run' || tailOf(world, chain).phase === 'completed') blocker.done = true
      else failed = true
    }
  }
  job.phase = 'blocked'
  if (failed && onFailure === 'fail') {
    endChain(world, job, { state: 'failed', reason: 'blocker_failed' }, noEffects())
  } else if (job.blockers.every(({ done }) => done)) unblock(world, job)
}

const isKnown = (world: World, head: Job): boolean => world.jobs.get(nameOfRef(head)) === head

function sameVerdicts(
  world: World,
  verdicts: readonly AddVerdict[],
  expected: readonly Expected[],
  replaced: ReadonlySet<Job>,
): void {
  same('the number of verdicts of add', verdicts.length, expected.length)
  for (const [index, verdict] of verdicts.entries()) {
    const what = `verdict ${index} of add`
    const wanted = expected[index]!
    same(what, verdict.verdict, wanted.verdict)
    if (verdict.verdict === 'blocker_not_found' && wanted.verdict === 'blocker_not_found') {
      must(
        wanted.missing.some((ref) => isSame(ref, verdict.blocker)),
        () => `${what} names ${show(verdict.blocker)}`,
      )
    }
    if (verdict.verdict === 'stale' && wanted.verdict === 'stale')
      same(`${what}: version`, verdict.version, wanted.version)
    if (verdict.verdict === 'queue_full' || verdict.verdict === 'group_kind') same(what, show(verdict), show(wanted))
    if (!('job' in verdict) || !('job' in wanted)) continue
    if (verdict.verdict === 'duplicate') same(`${what}: by`, verdict.by, wanted.by)
    sameRef(`${what}: job`, verdict.job, wanted.job)
    same(`${what}: token`, verdict.job.token, wanted.job.token)
    const { of } = wanted.job
    // A job that was just added is shown in its state after the whole batch.
    const added =
      (verdict.verdict === 'added' || verdict.verdict === 'replaced') &&
      of &&
      of.order.move === world.moves &&
      of.attempt === 0
    const state = added && of.index === 0 ? stateOf(world, of) : wanted.job.state
    // Shown before or after the adds of this call that moved its runAt.
    if (state !== undefined && !(of && replaced.has(of))) same(`${what}: state`, verdict.job.state, state)
    if (verdict.verdict === 'duplicate' && verdict.by === 'key' && !of)
      same(`${what}: result`, verdict.job.result, undefined)
    if (state === 'completed' && of) {
      sameBytes(`${what}: result`, verdict.job.result, (of.index === 0 ? tailOf(world, of) : of).result)
    }
  }
}
