// Runs each command: makes its request, calls the storage, and makes the same move in the reference.

import type { Command } from '../commands.ts'
import { bytes } from '../../case.ts'
import { groups, ids, types } from '../commands.ts'
import {
  aheadWorker,
  type Claim,
  type ClaimRequest,
  type JobRef,
  type JobState,
  type ListQuery,
  type NewJob,
  type Outcome,
} from 'holdfast/storage'
import { isSame, must, plain as refOf, show } from '../reference.ts'
import { add } from './add.ts'
import { claim, recover } from './claim.ts'
import { listed } from './compare.ts'
import type { JobHistory } from './history.ts'
import { cancel, pause, remove, revive } from './moves.ts'
import { jobsOf, keepCountOf, leaseOf, outcomeOf, reportOf, typesOf, universe } from './requests.ts'
import { extend, settle } from './settle.ts'
import { sweep } from './sweep.ts'

type Runners = {
  readonly [Kind in Command['kind']]: (
    history: JobHistory,
    command: Extract<Command, { kind: Kind }>,
  ) => Promise<unknown>
}

export const runCommand = (history: JobHistory, command: Command): Promise<unknown> =>
  (runners[command.kind] as (history: JobHistory, command: Command) => Promise<unknown>)(history, command)

const runners: Runners = {
  add: (history, { jobs, tokens, lost }) =>
    addJobs(history, jobsOf(history.world, history.client, jobs, { tokens: tokens > 0 }), lost),

  async claim(history, command) {
    const { client, unit, storage, seen } = history
    const outcomes = outcomesOf(history, command.outcomes)
    const name = `w${++client.made}`
    const request: ClaimRequest = {
      worker: command.ahead ? aheadWorker(name) : name,
      ...(command.label && { label: 'label' }),
      slots: [1, 2, 3, 10][command.slots]!,
      ...(outcomes.length > 0 && { outcomes }),
      types: typesOf(command.types).map((type) => ({
        type,
        leaseMs: [5, 2, 1][command.lease]! * unit,
        ...(command.each > 0 && { slots: command.each }),
        ...(command.maxAttempts > 0 && { maxAttempts: command.maxAttempts }),
        ...(history.world.limits.has(type) && { limits: history.world.limits.get(type)! }),
      })),
    }
    const ask = (): Promise<Claim> => storage.claim(request)
    const apply = (answer: Claim | undefined): void => claim(history.world, request, answer, seen)
    const answer = await history.call('claim', [request], ask, apply, command.lost)
    for (const { type, id, worker, attempt } of answer?.jobs ?? []) client.leases.push({ type, id, worker, attempt })
  },

  settle: (history, { outcomes, lost }) => settleAll(history, outcomesOf(history, outcomes), lost),

  async extend(history, { leases, old, lease, report }) {
    const fences = leases.map((number) => leaseOf(history.world, history.client, number, old))
    const extensions = fences.flatMap((fence) =>
      fence ? [{ ...fence, leaseMs: [5, 2, 1][lease]! * history.unit, ...reportOf(history.client, report) }] : [],
    )
    await history.call(
      'extend',
      [extensions],
      () => history.storage.extend(extensions),
      (answer) => extend(history.world, extensions, answer),
    )
  },

  async recover(history, command) {
    const request = {
      types: typesOf(command.types),
      limit: [10, 1, 2][command.limit]!,
      ...(command.older > 0 && { olderThanMs: (command.older - 0.5) * history.unit }),
    }
    await history.call(
      'recover',
      [request],
      () => history.storage.recover(request),
      (answer) => recover(history.world, request, answer, history.seen),
    )
  },

  async cancel(history, { jobs, how, chains, reason }) {
    const refs = refsOf(jobs)
    const options = {
      ...(chains && { chains }),
      ...(how === 1 && { abort: true }),
      ...(how === 2 && { force: true }),
      ...(reason && { reason: 'why' }),
    }
    await history.call(
      'cancel',
      [refs, options],
      () => history.storage.cancel(refs, options),
      (answer) => cancel(history.world, refs, options, answer),
    )
  },

  async revive(history, { jobs, when, only, payload }) {
    const refs = refsOf(jobs).map((ref) => ({ ...ref, ...(payload && { payload: bytes('revived') }) }))
    const { unit, world } = history
    const times = [{}, { runAt: world.now + 2 * unit }, { runAt: world.now - 2 * unit }, { delayMs: 3 * unit }]
    const options = {
      ...times[when],
      ...(only > 0 && { only: only === 1 ? ('waiting' as const) : ('ended' as const) }),
    }
    await history.call(
      'revive',
      [refs, options],
      () => history.storage.revive(refs, options),
      (answer) => revive(history.world, refs, options, answer, history.seen),
    )
  },

  async remove(history, { jobs, how }) {
    const all = refsOf(jobs)
    const refs = how === 1 ? all.filter((ref, index) => all.findIndex((other) => isSame(ref, other)) === index) : all
    const options = [{}, { trees: true }, { afterMs: 0 }, { afterMs: 2 * history.unit }][how]!
    await history.call(
      'remove',
      [refs, options],
      () => history.storage.remove(refs, options),
      (answer) => remove(history.world, refs, options, answer, history.seen),
    )
  },

  async pause(history, { type, group, paused }) {
    const request = { type: types[type]!, ...(group > 0 && { group: groups[group - 1]! }), paused, by: 'operator' }
    await history.call(
      'pause',
      [request],
      () => history.storage.pause(request),
      () => pause(history.world, request),
    )
  },

  async sweep(history, { limit, keep, type }) {
    const request = { limit: [100, 1][limit]!, ...(keep > 0 && limit === 0 && { keep: [keepCountOf(type, keep - 1)] }) }
    await history.call(
      'sweep',
      [request],
      () => history.storage.sweep(request),
      (answer) => sweep(history.world, request, answer, history.seen),
    )
  },

  advance: (history, { units }) => history.advance([1, 2, 3, 5, 11, 101][units]!),

  async repeat(history, { settle: settles, which }) {
    const { client } = history
    const latest = <T>(items: readonly T[]): T | undefined => items[items.length - 1 - which]
    const [jobs, outcomes] = [latest(client.adds), latest(client.settles)]
    if (settles && outcomes) await settleAll(history, outcomes, false, true)
    else if (!settles && jobs) await addJobs(history, jobs, false, true)
  },

  async list(history, { of, filter, pick, ascending, limit, place }) {
    const { now } = history.world
    const filters: Partial<ListQuery>[] = [
      {},
      { types: [types[pick % 2]!] },
      { states: states.slice(pick % 8, (pick % 8) + 2) },
      { chain: universe[pick]! },
      { rootOnly: true },
      { createdFrom: now - (pick + 0.5) * history.unit },
      { createdTo: now - (pick - 0.5) * history.unit },
      { group: groups[pick % 3]! },
      { where: { n: 2 + (pick % 2) } },
      { where: { n: { gte: 2 + (pick % 2) }, text: ids[pick % 6]! } },
    ]
    const query: ListQuery = {
      of: of === 0 ? 'jobs' : 'chains',
      ...filters[filter],
      ...(ascending && { order: 'asc' }),
      ...(place && { by: 'place' }),
      limit: [100, 1, 2, 3][limit]!,
    }
    const check = (answer: readonly JobRef[] | undefined): void => {
      const expected = shownList(listed(history.world, query), place)
      const actual = shownList(answer!.map(refOf), place)
      must(actual === expected, () => `the list is ${actual}, expected ${expected}`)
    }
    await history.call('list', [query], () => allPages(history, query), check)
  },
}

/** By place, the order is the storage's own. */
const shownList = (refs: readonly JobRef[], place: boolean): string =>
  place ? show(refs.map(show).toSorted()) : show(refs)

const states: readonly JobState[] = [
  'scheduled',
  'queued',
  'blocked',
  'processing',
  'failing',
  'completed',
  'failed',
  'cancelled',
]

const refsOf = (numbers: readonly number[]): JobRef[] => numbers.map((number) => universe[number]!)

function outcomesOf(history: JobHistory, specs: Extract<Command, { kind: 'settle' }>['outcomes']): Outcome[] {
  // Only the last outcome adds jobs: a job that one outcome ends with a retention of 0 ms, and the next one names, may be
  // there or gone: both are legal.
  const plain = specs.map((spec, index) =>
    index === specs.length - 1 ? spec : { ...spec, add: [], next: { ...spec.next, blockers: 0 } },
  )
  return plain.flatMap((spec) => outcomeOf(history.world, history.client, spec) ?? [])
}

async function addJobs(history: JobHistory, jobs: readonly NewJob[], lost: boolean, repeated = false): Promise<void> {
  if (!repeated) history.client.adds.push(jobs)
  await history.call(
    repeated ? 'add again' : 'add',
    [jobs],
    () => history.storage.add(jobs),
    (answer) => add(history.world, jobs, answer, history.seen),
    lost,
  )
}

async function settleAll(
  history: JobHistory,
  outcomes: readonly Outcome[],
  lost: boolean,
  repeated = false,
): Promise<void> {
  if (outcomes.length === 0) return
  if (!repeated) history.client.settles.push(outcomes)
  await history.call(
    repeated ? 'settle again' : 'settle',
    [outcomes],
    () => history.storage.settle(outcomes),
    (answer) => settle(history.world, outcomes, answer, history.seen),
    lost,
  )
}

async function allPages(history: JobHistory, query: ListQuery): Promise<JobRef[]> {
  const found: JobRef[] = []
  let pages = 0
  for (let cursor: string | undefined; ;) {
    const page = await history.storage.list(cursor === undefined ? query : { ...query, cursor })
    found.push(...page.items)
    if (page.nextCursor === undefined || found.length > 100 || ++pages > 1_000) return found
    cursor = page.nextCursor
  }
}
