// How a sound driver is broken: its arguments or answers are rewritten, or its data is changed from outside.

import type { Subject } from '../../../../conformance/src/index.ts'
import { Data, type MemoryJob } from '../../../src/storage/memory/data.ts'
import { MemoryStorage } from '../../../src/storage/memory/memory-storage.ts'
import type { ClaimRequest, JobRef, NewJob, Outcome, SettleVerdict, Storage } from '../../../src/storage/storage.ts'
import { withManualClock } from '../../drivers.ts'

export interface BrokenDriver {
  readonly name: string
  /** What a user would notice. */
  readonly breaks: string
  /** The case that must fail on it, as 'verb: name'. */
  readonly caughtBy: string
  readonly open: (sound: Sound) => Partial<Storage>
}

/** The sound driver, with access to its data. */
export interface Sound {
  readonly storage: MemoryStorage
  readonly now: () => number
  /** Runs a call with a clock that is wrong by `ms`. The calls of this driver are synchronous. */
  readonly skewed: <T>(ms: number, call: () => T) => T
  readonly data: () => Data
  readonly find: (ref: JobRef) => MemoryJob | undefined
  readonly jobs: () => MemoryJob[]
}

export function openBroken({ open }: Pick<BrokenDriver, 'open'>): Subject {
  let skew = 0
  return withManualClock((clock) => {
    const now = (): number => clock.now() + skew
    const storage = new MemoryStorage({ clock: { ...clock, now } })
    const sound: Sound = {
      storage,
      now,
      skewed: (ms, call) => {
        skew = ms
        try {
          return call()
        } finally {
          skew = 0
        }
      },
      data: () => dataOf(storage),
      find: ({ type, id }) => dataOf(storage).types.get(type)?.jobs.get(id),
      jobs: () => [...dataOf(storage).types.values()].flatMap((type) => [...type.jobs.values()]),
    }
    return withVerbs(storage, open(sound))
  })
}

/** The same storage with some verbs replaced. */
function withVerbs(storage: MemoryStorage, changes: Partial<Storage>): Storage {
  return new Proxy(storage, {
    get(target, name) {
      if (name in changes) return Reflect.get(changes, name)
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  }) as Storage
}

/** The driver's data is private: a call that changes nothing is intercepted to find it. */
function dataOf(storage: MemoryStorage): Data {
  const found: Data[] = []
  const { ensureType } = Data.prototype
  Data.prototype.ensureType = function (this: Data, name) {
    found.push(this)
    return ensureType.call(this, name)
  }
  void storage.pause({ type: '', paused: false })
  Data.prototype.ensureType = ensureType
  return found[0]!
}

/** Assigns fields that the types declare readonly. */
export const set = <T extends object>(target: T, values: { [Key in keyof T]?: unknown }): T =>
  Object.assign(target, values)

/** Rewrites outcomes in both verbs that carry them, settle and claim. */
export function settling(
  { storage }: Sound,
  rewrite: (outcome: Outcome) => Outcome,
  after: (verdict: SettleVerdict, outcome: Outcome) => SettleVerdict = (verdict) => verdict,
): Pick<Storage, 'settle' | 'claim'> {
  return {
    settle: async (outcomes) => {
      const verdicts = await storage.settle(outcomes.map(rewrite))
      return verdicts.map((verdict, index) => after(verdict, outcomes[index]!))
    },
    claim: async (request) => {
      const answer = await storage.claim({ ...request, outcomes: request.outcomes?.map(rewrite) })
      return { ...answer, settled: answer.settled.map((verdict, index) => after(verdict, request.outcomes![index]!)) }
    },
  }
}

export function adding(
  { storage }: Sound,
  rewrite: (job: NewJob) => NewJob,
): Pick<Storage, 'add' | 'settle' | 'claim'> {
  const all = (jobs: readonly NewJob[] | undefined): readonly NewJob[] | undefined => jobs?.map(rewrite)
  const one = (outcome: Outcome): Outcome => {
    const added = 'add' in outcome ? { ...outcome, add: all(outcome.add) } : outcome
    return added.kind === 'continued' ? { ...added, next: rewrite(added.next) } : added
  }
  return {
    add: (jobs) => storage.add(jobs.map(rewrite)),
    settle: (outcomes) => storage.settle(outcomes.map(one)),
    claim: (request: ClaimRequest) => storage.claim({ ...request, outcomes: request.outcomes?.map(one) }),
  }
}

/** A copy without these fields. */
export function without<T extends object>(value: T, ...fields: (keyof T)[]): T {
  const copy = { ...value }
  for (const field of fields) delete copy[field]
  return copy
}
