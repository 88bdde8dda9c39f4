// add: ids first, then keys, then blockers; the jobs in the order given.
// Longer than others: what is decided first decides what is asked next.

import type { AddVerdict, JobRef, JobState, NewJob } from 'holdfast/storage'
import {
  due,
  find,
  isEnded,
  isFree,
  isGone,
  isInForce,
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
  type World,
} from '../reference.ts'
import { endChain, forget, noEffects, unblock } from './end.ts'

/** What the verdict must say. An absent state: the contract does not say. */
type Expected =
  | { verdict: 'added' | 'duplicate'; by?: 'id' | 'key'; job: JobRef & { token: string; state?: JobState; of?: Job } }
  | { verdict: 'skipped' }
  | { verdict: 'blocker_not_found'; missing: readonly JobRef[] }

/**
 * @param verdicts absent: the answer was lost
 * @param outcome of an outcome that adds these jobs: the job that its first one continues, and the chains that were there
 *   before it, among which the blockers were looked for
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
  for (const [index, made] of jobs.entries()) {
    if (missing.has(made.token)) {
      expected.push({ verdict: 'blocker_not_found', missing: missing.get(made.token)! })
      continue
    }
    const blocked = jobs.flatMap(({ blockers }, position) => (blockers?.includes(index) ? [position] : []))
    const origin = blocked.map((position) => created[position]).find((job) => job !== undefined)
    const repeated = !origin && blocked.some((position) => expected[position]!.verdict === 'added')
    if (blocked.length > 0 && !origin && !repeated) {
      expected.push({ verdict: 'skipped' })
      continue
    }
    const again = jobs.some(
      (other, at) => expected[at]?.verdict === 'added' && other.token === made.token && isSame(other, made),
    )
    const told = verdicts?.[index]
    const continues = index === 0 && outcome?.predecessor !== undefined
    const verdict = inTheWay(world, made, {
      before: outcome?.before ?? [],
      marksBefore,
      again,
      continues,
      repeated,
      seen,
      told,
    })
    if (verdict) {
      expected.push(verdict)
      continue
    }
    const job = create(world, made, index === 0 ? outcome?.predecessor : undefined, origin)
    created[index] = job
    expected.push({ verdict: 'added', job: { ...plain(job), token: made.token, of: job } })
  }
  // Blockers stand behind what they block.
  for (const [index, job] of [...created.entries()].toReversed()) {
    if (!job?.made.blockers) continue
    job.blockers = refsOfBlockers(world, jobs, index, expected).map((ref) => ({ ref, done: false, bound: false }))
    block(world, job, job.made.onBlockerFailure ?? 'fail', [...created, ...(outcome?.before ?? [])])
  }
  if (verdicts) sameVerdicts(world, verdicts, expected)
}

/**
 * By token. Of a job that is known already nothing is asked.
 * @param forgotten ask of one that is known and gone
 * @param chains those of the jobs that begin one
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
      (blocker) => typeof blocker !== 'number' && find(world, blocker)?.index !== 0 && !comes(blocker),
    )
    const known = world.jobs.get(nameOfRef(job))
    const isKnown = known?.made.token === token && (find(world, known) !== undefined || !forgotten(index))
    if (refs.length > 0 && !isKnown) missing.set(token, [...(missing.get(token) ?? []), ...(refs as JobRef[])])
  }
  return missing
}

interface Circumstances {
  /** The chains that were there when the outcome began which adds this job. */
  readonly before: readonly Job[]
  readonly marksBefore: ReadonlySet<Mark>
  /** The call named this job before. */
  readonly again: boolean
  /** It has the key of its chain. */
  readonly continues: boolean
  /** It blocks a job that was there before this call. */
  readonly repeated: boolean
  readonly seen: Seen
  readonly told: AddVerdict | undefined
}

function inTheWay(
  world: World,
  made: NewJob,
  { before, marksBefore, again, continues, repeated, seen, told }: Circumstances,
): Expected | undefined {
  const { token } = made
  const existing = world.jobs.get(nameOfRef(made))
  if (existing?.made.token === token) {
    if (!isGone(world, existing))
      return standing(world, existing, again ? 'duplicate' : 'added', again ? 'id' : undefined)
    // The record of the first has expired: known by it or decided anew, both will do.
    const known = { ...plain(made), token }
    if (again && told?.verdict === 'duplicate' && told.by === 'id')
      return { verdict: 'duplicate', by: 'id', job: known }
    const record = seen(made)
    const isNew = record?.token === token && (told?.verdict !== 'added' || told.job.state === record.state)
    if (told?.verdict !== 'duplicate' && !isNew) return { verdict: 'added', job: known }
  }
  if (!isFree(world, made)) return standing(world, existing!, 'duplicate', 'id')
  // What goes in this very move is still in the way, or no longer: as the driver likes.
  const isTold = (by: 'id' | 'key'): boolean =>
    told ? told.verdict === 'duplicate' && told.by === by : seen(made)?.token !== token
  const isGoing = (chain: Job): boolean => before.includes(chain) && isKnown(world, chain) && isGone(world, chain)
  if (existing && isGoing(existing.chain) && isTold('id')) {
    return { verdict: 'duplicate', by: 'id', job: { ...plain(existing), token: existing.made.token, of: existing } }
  }
  const key = continues ? undefined : made.deduplication?.key
  const mark = key === undefined ? undefined : world.marks.get(nameOf(made.type, key))
  if (mark && (isInForce(world, mark) || (isGoing(mark.first) && isTold('key')))) {
    const { first } = mark
    const ownRepeat = first.made.token === token && (mark.shared ? marksBefore.has(mark) : isSame(first, made))
    if (ownRepeat) return { verdict: 'added', job: { ...plain(made), token } }
    if (!mark.shared || first.made.token !== token) {
      const gone = mark.orphaned || isGone(world, first)
      if (!gone) return standing(world, first, 'duplicate', 'key')
      const job = { ...plain(first), token: first.made.token }
      if (isGoing(first)) return { verdict: 'duplicate', by: 'key', job: { ...job, of: first } }
      return { verdict: 'duplicate', by: 'key', job: { ...job, state: 'completed' } }
    }
  }
  return repeated ? { verdict: 'added', job: { ...plain(made), token } } : undefined
}

function standing(world: World, job: Job, verdict: 'added' | 'duplicate', by?: 'id' | 'key'): Expected {
  const shown = job.index === 0 ? tailOf(world, job) : job
  // Of a job of the same batch the state is still to be decided.
  const state = shown.order.move === world.moves && job.attempt === 0 ? undefined : stateOf(world, shown)
  return { verdict, by, job: { ...plain(job), token: job.made.token, state, of: job } }
}

function create(world: World, made: NewJob, predecessor: Job | undefined, origin: Job | undefined): Job {
  const replaced = world.jobs.get(nameOfRef(made))
  if (replaced) forget(world, replaced.chain)
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
    runAt: due(world, made),
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
    blockers: [],
    expiresAt: Infinity,
    keepMs: undefined,
    mark: undefined,
  } as unknown as Job
  Object.assign(job, { chain: predecessor?.chain ?? job })
  world.jobs.set(nameOfRef(made), job)
  if (!predecessor && made.deduplication) takeKey(world, job, made.deduplication)
  return job
}

function takeKey(world: World, job: Job, { key, mode, windowMs, shared }: NonNullable<NewJob['deduplication']>): void {
  const name = nameOf(job.type, key)
  const held = world.marks.get(name)
  // Shared, and taken by an earlier job of this call.
  if (held && isInForce(world, held)) return
  job.mark = { key, mode, windowMs: windowMs ?? Infinity, shared: shared ?? false, first: job, orphaned: false }
  world.marks.set(name, job.mark)
}

/** A blocker of the batch that is a duplicate stands for the chain in its way. */
function refsOfBlockers(world: World, jobs: readonly NewJob[], index: number, expected: readonly Expected[]): JobRef[] {
  const refs: JobRef[] = []
  const { blockers, token } = jobs[index]!
  for (const blocker of blockers!) {
    let ref = typeof blocker === 'number' ? plain(jobs[blocker]!) : plain(blocker)
    const sibling = jobs.findIndex((other) => other.token === token && isSame(other, ref))
    const verdict = expected[typeof blocker === 'number' ? blocker : sibling]
    if (verdict?.verdict === 'duplicate') ref = plain(find(world, verdict.job)?.chain ?? verdict.job)
    refs.push(ref)
  }
  return refs
}

/** Decides what a job with blockers does first: wait for them, go on, or fail with one. */
export function block(
  world: World,
  job: Job,
  onFailure: 'fail' | 'wait',
  fresh: readonly (Job | undefined)[] = [],
): void {
  let failed = false
  for (const blocker of job.blockers) {
    // What ended in this very move, and would be kept for no one else, still counts.
    const chain =
      find(world, blocker.ref) ?? fresh.find((head) => head && isSame(head, blocker.ref) && isKnown(world, head))
    blocker.bound = chain !== undefined
    // Its key outlived its record: it was completed.
    if (!chain) blocker.done = true
    else if (isEnded(tailOf(world, chain))) {
      if (tailOf(world, chain).phase === 'completed') blocker.done = true
      else failed = true
    }
  }
  job.phase = 'blocked'
  if (failed && onFailure === 'fail') {
    endChain(world, job, { state: 'failed', reason: 'blocker_failed' }, noEffects())
  } else if (job.blockers.every(({ done }) => done)) unblock(world, job)
}

const isKnown = (world: World, head: Job): boolean => world.jobs.get(nameOfRef(head)) === head

function sameVerdicts(world: World, verdicts: readonly AddVerdict[], expected: readonly Expected[]): void {
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
    if (!('job' in verdict) || !('job' in wanted)) continue
    if (verdict.verdict === 'duplicate') same(`${what}: by`, verdict.by, wanted.by)
    sameRef(`${what}: job`, verdict.job, wanted.job)
    same(`${what}: token`, verdict.job.token, wanted.job.token)
    const { of } = wanted.job
    // What was just added is shown as it is after the whole batch.
    const added = verdict.verdict === 'added' && of && of.order.move === world.moves && of.attempt === 0
    const state = added && of.index === 0 ? stateOf(world, of) : wanted.job.state
    if (state !== undefined) same(`${what}: state`, verdict.job.state, state)
    if (verdict.verdict === 'duplicate' && verdict.by === 'key' && !of)
      same(`${what}: result`, verdict.job.result, undefined)
    if (state === 'completed' && of) {
      sameBytes(`${what}: result`, verdict.job.result, (of.index === 0 ? tailOf(world, of) : of).result)
    }
  }
}
