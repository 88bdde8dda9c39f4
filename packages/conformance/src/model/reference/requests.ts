// Resolves the numbers of a command to the request that it stands for, by the state at that time.
//
// Left out, because the contract leaves them to the faces: jobs that wait for themselves or their own chain, and
// jobs added by an outcome that would take the id or the key which that outcome frees.

import { bytes } from '../../case.ts'
import { groups, ids, type JobSpec, keys, type OutcomeSpec, types } from '../commands.ts'
import type {
  Bytes,
  Deduplication,
  JobGroup,
  JobRef,
  KeepCount,
  LeaseRef,
  NewJob,
  Outcome,
  Report,
  Retention,
  When,
} from 'holdfast/storage'
import { find, isEnded, isSame, type Job, nameOfRef, plain, tailOf, type World } from '../reference.ts'

/** What the callers of the storage know of it. */
export interface Client {
  readonly unit: number
  /** Counter for names that never repeat. */
  made: number
  /** Every lease that a claim ever returned. */
  readonly leases: LeaseRef[]
  readonly adds: (readonly NewJob[])[]
  readonly settles: (readonly Outcome[])[]
}

export const universe: readonly JobRef[] = types.flatMap((type) => ids.map((id) => ({ type, id })))

const some: readonly (Bytes | undefined)[] = [
  undefined,
  bytes('1'),
  new Uint8Array([0, 255, 10, 128]),
  new Uint8Array(),
]

const pick = <T>(items: readonly T[], number: number): T | undefined =>
  items.length === 0 ? undefined : items[number % items.length]

export function typesOf(number: number): readonly string[] {
  return [[types[0]], [types[1]], types, types.toReversed()][number]!
}

function whenOf(world: World, unit: number, number: number): When {
  const choices: When[] = [
    {},
    { delayMs: unit },
    { delayMs: 3 * unit },
    { delayMs: 0 },
    { runAt: world.now + 2 * unit },
    { runAt: world.now - 5 * unit },
  ]
  return choices[number]!
}

const all = (ms: number): Retention => ({ completedMs: ms, failedMs: ms, cancelledMs: ms })

function retentionOf(unit: number, number: number): Retention {
  const mixed = { completedMs: 5 * unit, failedMs: Infinity, cancelledMs: unit }
  return [all(100 * unit), mixed, all(0), all(3 * unit), all(Infinity)][number]!
}

/** @param number 0 … 5: three states, each with none or one to keep */
export function keepCountOf(type: number, number: number): KeepCount {
  const state = (['completed', 'failed', 'cancelled'] as const)[number % 3]!
  return { type: types[type]!, state, count: number < 3 ? 0 : 1 }
}

function keyOf(unit: number, number: number): Deduplication | undefined {
  const [first, second] = keys
  const choices: (Deduplication | undefined)[] = [
    undefined,
    { key: first, mode: 'simple' },
    { key: second, mode: 'simple' },
    { key: first, mode: 'simple', windowMs: 2 * unit },
    { key: first, mode: 'throttle' },
    { key: second, mode: 'throttle', windowMs: 2 * unit },
    { key: first, mode: 'throttle', windowMs: 5 * unit },
    { key: first, mode: 'throttle', windowMs: 3 * unit, shared: true },
    { key: second, mode: 'throttle', windowMs: 5 * unit, shared: true },
    { key: first, mode: 'debounce', windowMs: unit },
    { key: first, mode: 'debounce', windowMs: 2 * unit, maxWaitMs: 3 * unit },
    { key: second, mode: 'debounce', windowMs: 3 * unit },
    { key: second, mode: 'debounce', windowMs: 5 * unit, maxWaitMs: 1 },
    { key: first, mode: 'followUp' },
    { key: second, mode: 'followUp' },
    { key: second, mode: 'followUp' },
    { key: first, mode: 'ascending', version: 1 },
    { key: first, mode: 'ascending', version: 2, ttlMs: 5 * unit },
    { key: second, mode: 'ascending', version: -1 },
    { key: second, mode: 'ascending', version: 0, ttlMs: 2 * unit },
    { key: second, mode: 'ascending', version: Number.MAX_SAFE_INTEGER, ttlMs: unit },
  ]
  return choices[number]
}

function groupOf({ group, member }: JobSpec): JobGroup | undefined {
  if (group === 0) return undefined
  const key = groups[group - 1]!
  const isOrdered = (group === 1) !== (member === 3)
  if (!isOrdered) return member === 1 ? { key } : { key, ordered: false }
  return member === 1 || member === 2 ? { key, ordered: true, onFailure: 'hold' } : { key, ordered: true }
}

const isShared = (deduplication: Deduplication | undefined): boolean =>
  deduplication?.mode === 'throttle' && deduplication.shared === true

/** @param freed the key that is freed in the same move; @param continues the chain that the first job continues */
export function jobsOf(
  world: World,
  client: Client,
  specs: readonly JobSpec[],
  { tokens = false, freed, continues }: { tokens?: boolean; freed?: string; continues?: Job } = {},
): NewJob[] {
  const { unit } = client
  const call = `t${++client.made}`
  const taken = new Map<string, Deduplication>()
  const jobs = specs.map((spec, index): NewJob => {
    const wanted = keyOf(unit, spec.key)
    // One call does not use a key both shared and single.
    const before = wanted && taken.get(wanted.key)
    const key = isShared(before) || isShared(wanted) ? (before ?? wanted) : wanted
    if (key) taken.set(key.key, key)
    const group = groupOf(spec)
    return {
      type: types[spec.type]!,
      id: ids[spec.id]!,
      token: tokens ? `${call}.${index}` : call,
      retention: retentionOf(unit, spec.keep),
      ...(key?.mode !== 'debounce' && whenOf(world, unit, spec.when)),
      ...(spec.priority > 0 && { priority: spec.priority === 1 ? 7 : -7 }),
      ...(group && { group }),
      ...(spec.weight > 0 && { weight: [1, 2, 5][spec.weight - 1]! }),
      ...(spec.depth > 0 && {
        maxWaiting: [{ type: 1 }, { type: 3 }, { group: 1 }, { type: 4, group: 2 }][spec.depth - 1]!,
      }),
      ...(key && key.key !== freed && { deduplication: key }),
      ...(spec.maxAttempts > 0 && { maxAttempts: spec.maxAttempts }),
      ...(spec.payload > 0 && { payload: some[spec.payload], trace: 'trace' }),
      ...(spec.payload > 1 && { search: { n: spec.payload, text: ids[spec.id]! }, timeoutMs: spec.payload * 1_000 }),
      ...(spec.deadline > 0 && { expiresInMs: [2, 5][spec.deadline - 1]! * unit }),
      ...(spec.replace && { onDuplicate: 'replace' }),
    }
  })
  return jobs.map((job, index) => {
    const blockers = blockersOf(world, jobs, index, specs[index]!, index === 0 ? continues : undefined)
    const onBlockerFailure = ([undefined, 'wait', 'run'] as const)[specs[index]!.onFailure]
    return blockers.length === 0 ? job : { ...job, blockers, ...(onBlockerFailure && { onBlockerFailure }) }
  })
}

function blockersOf(
  world: World,
  jobs: readonly NewJob[],
  index: number,
  { blockers, pick: number }: JobSpec,
  own: Job | undefined,
): (JobRef | number)[] {
  const { token, deduplication } = jobs[index]!
  if (blockers === 0 || deduplication?.mode === 'followUp') return []
  const later = jobs.flatMap((job, position) => {
    const fresh = position > index && !jobs.some((other, at) => at < position && isSame(other, job))
    return fresh && job.token === token && !job.deduplication ? [position] : []
  })
  const others = [...world.jobs.values()].filter(
    (job) => job.index === 0 && job !== own && find(world, job) && !jobs.some((other) => touches(world, other, job)),
  )
  const position = pick(later, number)
  // By id it is an independent chain; by position it is started for this job.
  const sibling = position !== undefined && number % 2 === 1 ? plain(jobs[position]!) : position
  const existing = pick(others.map(plain), number)
  const absent = { type: types[0], id: 'unknown' }
  const choices = [
    [],
    [sibling],
    [existing],
    [existing, position, existing],
    [pick(others, number + 1) && plain(pick(others, number + 1)!), existing],
    [number < 4 ? absent : existing],
  ]
  return choices[blockers]!.filter((blocker) => blocker !== undefined)
}

/** Whether the job has the id of this chain or would replace one of its jobs. */
const touches = (world: World, job: NewJob, head: Job): boolean =>
  isSame(job, head) || world.jobs.get(nameOfRef(job))?.chain === head

export function outcomeOf(world: World, client: Client, spec: OutcomeSpec): Outcome | undefined {
  const lease = leaseOf(world, client, spec.lease, spec.old)
  const fence = spec.workerless > 0 ? workerless(world, client, spec) : lease && forge(lease, spec.forged)
  if (!fence) return undefined
  const job = world.jobs.get(nameOfRef(fence))
  const own = job?.chain
  const free = (other: JobSpec): boolean => {
    const ref = { type: types[other.type]!, id: ids[other.id]! }
    return !isSame(ref, fence) && !(own && isSame(ref, own))
  }
  const add = jobsOf(world, client, spec.add.filter(free), { freed: own?.mark?.key })
  const error = spec.stalled ? { stalled: true } : { error: bytes(`error ${spec.bytes}`) }
  const keep = spec.keep > 0 ? { keepMs: [0, 2 * client.unit, Infinity][spec.keep - 1]! } : {}
  const when = whenOf(world, client.unit, spec.when)
  const report = spec.workerless > 0 ? {} : reportOf(client, spec.report)
  switch (spec.workerless > 0 ? [0, 2, 4, 0, 4][spec.kind] : spec.kind) {
    case 0:
      return {
        ...fence,
        kind: 'completed',
        ...(spec.bytes > 0 && { result: some[spec.bytes] }),
        ...keep,
        ...adding(add),
        ...report,
      }
    case 1:
      return { ...fence, kind: 'retry', ...error, ...(spec.stalled ? {} : when), ...report }
    case 2:
      return { ...fence, kind: 'failed', ...error, ...keep, ...adding(add), ...report }
    case 3:
      return {
        ...fence,
        kind: 'released',
        ...when,
        ...(spec.bytes > 1 && { payload: some[spec.bytes] }),
        ...(spec.stalled && { error: bytes(`snoozed ${spec.bytes}`) }),
        ...(spec.slowDown > 0 && { slowDown: (['type', 'group', 'job'] as const)[spec.slowDown - 1]! }),
        ...report,
      }
    default: {
      const rest = spec.add.filter(
        (other) => free(other) && (other.type !== spec.next.type || other.id !== spec.next.id),
      )
      const [next, ...more] = jobsOf(world, client, [spec.next, ...rest], { freed: own?.mark?.key, continues: own })
      return { ...fence, kind: 'continued', next: next!, ...adding(more), ...report }
    }
  }
}

/** A report with its own number in progress and line, or none. Most bring earlier lines again, and some bring no other. */
export function reportOf(client: Client, what: number): Report {
  const number = what === 0 ? 0 : ++client.made
  const [first, last] = [number - (number % 3), number % 4 === 3 ? number - 1 : number]
  const numbers = Array.from({ length: last - first + 1 }, (_, index) => first + index)
  return {
    ...(what % 2 === 1 && { progress: bytes(`${number} %`) }),
    ...(what > 1 && { log: numbers.map((at) => ({ at, line: bytes(`line ${at}`) })) }),
  }
}

/** A fence that differs slightly from the one in force. */
function forge(lease: LeaseRef, how: number): LeaseRef {
  if (how === 1) return { ...lease, attempt: lease.attempt === 1 ? 2 : lease.attempt - 1 }
  return how === 2 ? { ...lease, worker: `${lease.worker}'` } : lease
}

const adding = (jobs: readonly NewJob[]): { add?: readonly NewJob[] } => (jobs.length > 0 ? { add: jobs } : {})

/** One of the leases in force, or of all leases ever given. */
export function leaseOf(world: World, client: Client, number: number, old: boolean): LeaseRef | undefined {
  if (old) return pick(client.leases, client.leases.length - 1 - (number % (client.leases.length || 1)))
  return pick(
    client.leases.filter((lease) => {
      const job = world.jobs.get(nameOfRef(lease))
      return job?.phase === 'processing' && job.worker === lease.worker
    }),
    number,
  )
}

function workerless(
  world: World,
  client: Client,
  { lease, old }: OutcomeSpec,
): (Outcome & { chain: JobRef }) | undefined {
  const head = pick(
    [...world.jobs.values()].filter((job) => job.index === 0 && (old || !isEnded(tailOf(world, job)))),
    lease,
  )
  if (!head) return undefined
  const expected = old ? head : tailOf(world, head)
  return { ...plain(expected), chain: plain(head), token: `t${++client.made}` } as Outcome & { chain: JobRef }
}
