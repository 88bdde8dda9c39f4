// The commands of the model test: plain data of small numbers, which shrink to the simplest call. They name jobs and
// leases by number, and the number is resolved when the command runs, against the state at that time.
//
// The universe is small, so that jobs collide: two types, six ids, two keys, three groups, chosen to clash where names are
// joined or looked up in plain objects.

import type FastCheck from 'fast-check'

export const types = ['a', 'a:b'] as const
/** Continuations mostly use the last two. */
export const ids = ['c', 'b:c', '__proto__', 'x', 'toString', 'n'] as const
export const keys = ['k', '__proto__'] as const
/** The deduplications that a job is added with (requests.ts), besides none. */
const keyChoices = 20
/** Jobs of the first group are ordered, unless their spec says otherwise; those of the others are not. */
export const groups = ['g', 'constructor', 'h'] as const
/** The limits that a type has (type-limits.ts), besides none. */
const limitChoices = 11

/** Zero is the simplest choice in every field. */
export interface JobSpec {
  readonly type: number
  readonly id: number
  readonly when: number
  readonly priority: number
  readonly group: number
  readonly key: number
  readonly maxAttempts: number
  readonly keep: number
  readonly payload: number
  readonly blockers: number
  readonly pick: number
  /** 1: wait. 2: run. */
  readonly onFailure: number
  readonly deadline: number
  readonly replace: boolean
  /** 1 and 2: a failure holds its ordered group. 3: of the other kind than most jobs of its group. */
  readonly member: number
  readonly weight: number
  readonly depth: number
}

export interface OutcomeSpec {
  readonly kind: number
  /** Index of the lease; with `old`, among all leases ever given, else among those in force. */
  readonly lease: number
  readonly old: boolean
  /** 1: the number of another attempt. 2: the name of another worker. */
  readonly forged: number
  readonly workerless: number
  readonly when: number
  readonly bytes: number
  readonly stalled: number
  readonly keep: number
  /** 1: progress. 2: a log line. 3: both. */
  readonly report: number
  /** 1: the type. 2: the group. 3: the job alone. */
  readonly slowDown: number
  readonly next: JobSpec
  readonly add: readonly JobSpec[]
}

export type Command =
  | { kind: 'add'; jobs: readonly JobSpec[]; tokens: number; lost: boolean }
  | {
      kind: 'claim'
      types: number
      slots: number
      each: number
      lease: number
      maxAttempts: number
      label: boolean
      ahead: boolean
      outcomes: readonly OutcomeSpec[]
      lost: boolean
    }
  | { kind: 'settle'; outcomes: readonly OutcomeSpec[]; lost: boolean }
  | { kind: 'extend'; leases: readonly number[]; old: boolean; lease: number; report: number }
  | { kind: 'recover'; types: number; limit: number; older: number }
  | { kind: 'cancel'; jobs: readonly number[]; how: number; chains: boolean; reason: boolean }
  | { kind: 'revive'; jobs: readonly number[]; when: number; only: number; payload: boolean }
  | { kind: 'remove'; jobs: readonly number[]; how: number }
  | { kind: 'pause'; type: number; group: number; paused: boolean }
  | { kind: 'sweep'; limit: number; keep: number; type: number }
  | { kind: 'advance'; units: number }
  | { kind: 'repeat'; settle: boolean; which: number }
  | { kind: 'list'; of: number; filter: number; pick: number; ascending: boolean; limit: number; place: boolean }

export function commandsOf(fc: typeof FastCheck): FastCheck.Arbitrary<readonly Command[]> {
  const upTo = (max: number): FastCheck.Arbitrary<number> => fc.nat({ max })
  /** Returns 0 most of the time. */
  const rarely = (max: number, share = 5): FastCheck.Arbitrary<number> =>
    fc.integer({ min: 0, max: max * share }).map((value) => (value % share === 1 ? Math.ceil(value / share) : 0))
  const often = fc.boolean()
  const seldom = rarely(1, 8).map((value) => value === 1)
  const few = <T>(item: FastCheck.Arbitrary<T>, max: number, min = 1): FastCheck.Arbitrary<readonly T[]> =>
    fc.array(item, { minLength: min, maxLength: max, size: 'max' })
  const one = <Kind extends Command['kind']>(
    kind: Kind,
    fields: { [Field in keyof Omit<Extract<Command, { kind: Kind }>, 'kind'>]: FastCheck.Arbitrary<unknown> },
  ): FastCheck.Arbitrary<Command> =>
    fc.record({ kind: fc.constant(kind), ...fields }) as unknown as FastCheck.Arbitrary<Command>

  const jobWith = (id: FastCheck.Arbitrary<number>): FastCheck.Arbitrary<JobSpec> =>
    fc.record({
      type: upTo(1),
      id,
      when: rarely(5, 3),
      priority: rarely(2, 3),
      group: rarely(3, 2),
      key: rarely(keyChoices, 2),
      maxAttempts: upTo(3),
      keep: upTo(4),
      payload: upTo(3),
      blockers: rarely(5, 3),
      pick: upTo(7),
      onFailure: upTo(2),
      deadline: rarely(2, 4),
      replace: seldom,
      member: rarely(3, 4),
      weight: rarely(3, 2),
      depth: rarely(4, 12),
    })
  const job = jobWith(upTo(3))
  const outcome = fc.record({
    kind: upTo(4),
    lease: upTo(7),
    old: seldom,
    forged: rarely(2, 10),
    workerless: rarely(8, 8),
    when: upTo(5),
    bytes: upTo(3),
    stalled: rarely(1, 4),
    keep: rarely(3, 3),
    report: rarely(3, 3),
    slowDown: rarely(3, 3),
    next: jobWith(upTo(5).map((id) => 5 - id)),
    add: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: few(job, 2) }),
  })
  const refs = few(upTo(11), 3)

  const command = fc.oneof(
    { weight: 6, arbitrary: one('add', { jobs: few(job, 3), tokens: rarely(1, 3), lost: seldom }) },
    {
      weight: 8,
      arbitrary: one('claim', {
        types: upTo(3),
        slots: upTo(3),
        each: rarely(1, 4),
        lease: upTo(2),
        maxAttempts: rarely(3, 2),
        label: often,
        ahead: rarely(1, 10).map((value) => value === 1),
        outcomes: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: few(outcome, 2) }),
        lost: seldom,
      }),
    },
    { weight: 8, arbitrary: one('settle', { outcomes: few(outcome, 2), lost: seldom }) },
    { weight: 1, arbitrary: one('extend', { leases: few(upTo(7), 3), old: often, lease: upTo(2), report: upTo(3) }) },
    { weight: 1, arbitrary: one('recover', { types: upTo(3), limit: upTo(2), older: upTo(2) }) },
    { weight: 3, arbitrary: one('cancel', { jobs: refs, how: upTo(2), chains: often, reason: often }) },
    { weight: 2, arbitrary: one('revive', { jobs: refs, when: upTo(3), only: upTo(2), payload: often }) },
    { weight: 2, arbitrary: one('remove', { jobs: refs, how: upTo(3) }) },
    { weight: 2, arbitrary: one('pause', { type: upTo(1), group: upTo(3), paused: often }) },
    { weight: 1, arbitrary: one('sweep', { limit: upTo(1), keep: upTo(6), type: upTo(1) }) },
    { weight: 5, arbitrary: one('advance', { units: upTo(5) }) },
    { weight: 2, arbitrary: one('repeat', { settle: often, which: upTo(7) }) },
    {
      weight: 1,
      arbitrary: one('list', {
        of: upTo(1),
        filter: upTo(9),
        pick: upTo(11),
        ascending: often,
        limit: upTo(3),
        place: often,
      }),
    },
  )
  return few(command, 40)
}

/** The number of the limits of each type: none for most. */
export const limitsOf = (fc: typeof FastCheck): FastCheck.Arbitrary<readonly number[]> =>
  fc.tuple(
    ...types.map(() =>
      fc.oneof({ weight: 1, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat({ max: limitChoices }) }),
    ),
  )
