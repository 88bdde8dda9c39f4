// The storage log: after each call the records are read and compared with those before it, as a trigger in a database would. It
// reads the memory driver itself, below any planted defect.

import type { MemoryStorage } from 'holdfast'
import type { Claim, ClaimRequest, JobRecord, JobRef, NewJob, Outcome, RecordPart } from 'holdfast/storage'
import { changesOf, type CallFacts } from './record-changes.ts'
import type { StorageChange } from './entries.ts'

const parts: readonly RecordPart[] = ['payload', 'result', 'attempts', 'progress', 'blockers']

/** Calls that may change records which they do not name, and which have ended. */
const wholeVerbs: readonly string[] = ['add', 'sweep', 'remove', 'revive', 'clear']
const verbsOfChange: readonly string[] = [...wholeVerbs, 'claim', 'extend', 'settle', 'recover', 'cancel', 'pause']

export const isChange = (verb: string): boolean => verbsOfChange.includes(verb)

export class StorageLog {
  readonly #storage: MemoryStorage
  readonly #known = new Map<string, JobRecord>()
  /** Those of them that any call may change. */
  readonly #live = new Map<string, JobRecord>()

  constructor(storage: MemoryStorage) {
    this.#storage = storage
  }

  /** The changes that a call made. @param answer undefined if it rejected @param at storage time */
  async changes(verb: string, args: readonly unknown[], answer: unknown, at: number): Promise<StorageChange[]> {
    if (verb === 'pause') return [pauseOf(args[0] as { type: string; group?: string; paused: boolean })]
    const items = itemsOf(verb, args)
    const refs = new Map<string, JobRef>(wholeVerbs.includes(verb) ? this.#known : this.#live)
    const include = (ref: JobRef): void => void refs.set(keyOf(ref), ref)
    for (const item of items) include(item)
    const outcomes = outcomesOf(verb, args)
    for (const outcome of outcomes) include(outcome)
    if (Array.isArray(args[0])) for (const ref of args[0] as JobRef[]) include(ref)
    for (const job of (verb === 'claim' && (answer as Claim | undefined)?.jobs) || []) include(job)
    if (verb === 'add') await this.#includeAll(include, refs)
    if (refs.size === 0) return []
    const records = await this.#storage.get([...refs.values()], { parts })
    const facts: CallFacts = { verb, at, items: byKey(items), outcomes, args }
    const [reports, ends, others, claims]: StorageChange[][] = [[], [], [], []]
    let index = 0
    for (const key of refs.keys()) {
      const [before, after] = [this.#known.get(key), records[index++]]
      for (const change of changesOf(before, after, facts)) {
        // An outcome carries the last report of its attempt.
        if (change.what === 'reported') reports!.push(change)
        else if (change.what === 'claimed') claims!.push(change)
        else if (endings.has(change.what)) ends!.push(change)
        else others!.push(change)
      }
      if (after) this.#known.set(key, after)
      else this.#known.delete(key)
      if (after && mayChange(after)) this.#live.set(key, after)
      else this.#live.delete(key)
    }
    if (verb === 'claim' && answer) inOrderOf(claims!, (answer as Claim).jobs)
    return [...reports!, ...ends!, ...others!, ...claims!]
  }

  /** Jobs that the call did not name: only a defect adds one. */
  async #includeAll(include: (ref: JobRef) => void, refs: ReadonlyMap<string, JobRef>): Promise<void> {
    const { types } = await this.#storage.count({})
    const count = types.reduce((sum, { states }) => Object.values(states).reduce((a, b) => a + b, sum), 0)
    if (count <= refs.size && count <= this.#known.size + 1) return
    const { items } = await this.#storage.list({ of: 'jobs', limit: 1_000 })
    for (const item of items) include(item)
  }
}

const endings = new Set(['settled', 'recovered', 'ended', 'vanished', 'gone'])

const keyOf = ({ type, id }: JobRef): string => `${type}/${id}`

/** An ended record without an expiry is needed by a dependent, whose end sets it. */
const mayChange = ({ state, expiresAt }: JobRecord): boolean =>
  expiresAt === undefined || !['completed', 'failed', 'cancelled'].includes(state)

/** Of two items with one id, the first is added. */
const byKey = (items: readonly NewJob[]): Map<string, NewJob> =>
  new Map(items.toReversed().flatMap((item) => [`${keyOf(item)} ${item.token}`, keyOf(item)].map((key) => [key, item])))

/** The jobs that a call may add. */
export function itemsOf(verb: string, args: readonly unknown[]): NewJob[] {
  if (verb === 'add') return [...(args[0] as readonly NewJob[])]
  return outcomesOf(verb, args).flatMap((outcome) => [
    ...(outcome.kind === 'continued' ? [outcome.next] : []),
    ...('add' in outcome && outcome.add ? outcome.add : []),
  ])
}

function outcomesOf(verb: string, args: readonly unknown[]): readonly Outcome[] {
  if (verb === 'settle') return args[0] as readonly Outcome[]
  return verb === 'claim' ? ((args[0] as ClaimRequest).outcomes ?? []) : []
}

function pauseOf({ type, group, paused }: { type: string; group?: string; paused: boolean }): StorageChange {
  return { what: paused ? 'paused' : 'resumed', type, group }
}

function inOrderOf(claims: StorageChange[], jobs: readonly JobRef[]): void {
  const place = new Map(jobs.map((job, index) => [keyOf(job), index]))
  const placeOf = (change: StorageChange): number => place.get(keyOf(change as JobRef)) ?? jobs.length
  claims.sort((a, b) => placeOf(a) - placeOf(b))
}
