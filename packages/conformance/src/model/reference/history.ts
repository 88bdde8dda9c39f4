// One history of a driver: its storage, the reference, and what the callers know.

import { systemClock } from 'holdfast/storage'
import { isHoldfastError } from 'holdfast'
import type { Counts, JobRecord, RecordPart, Storage } from 'holdfast/storage'
import type { Subject } from '../../case.ts'
import { groups, types } from '../commands.ts'
import { emptyWorld, nameOfRef, type Seen, show, type World } from '../reference.ts'
import { compareCounts, compareRecord } from './compare.ts'
import { compareNextDueAt } from './compare-limits.ts'
import { type Client, universe } from './requests.ts'
import { limitsOf } from './type-limits.ts'
import { loseTurns, observe } from './turns.ts'

export class JobHistory {
  storage: Storage
  readonly unit: number
  readonly client: Client
  world: World = emptyWorld(0)
  readonly #advance: (ms: number) => Promise<void>
  readonly #isReal: boolean
  readonly #lines: string[] | undefined
  readonly #seen = new Map<string, JobRecord | undefined>()
  #counts!: Counts
  #next: { at: number; now: number } | undefined

  /** @param limits of each type, by number */
  constructor({ storage, advance }: Subject, limits: readonly number[], lines: string[] | undefined) {
    this.storage = storage
    this.unit = advance ? 1_000 : 100
    this.client = { unit: this.unit, made: 0, leases: [], adds: [], settles: [] }
    this.#isReal = !advance
    this.#advance = advance ?? ((ms) => new Promise((resolve) => systemClock.after(ms, resolve)))
    this.#lines = lines
    for (const [index, type] of types.entries()) {
      const own = limitsOf(this.unit, limits[index]!)
      if (own) this.world.limits.set(type, own)
    }
  }

  readonly seen: Seen = (job) => this.#seen.get(nameOfRef(job))

  async begin(): Promise<void> {
    this.world.now = (await this.storage.count({ types: [] })).now
  }

  async advance(units: number): Promise<void> {
    // In real time the units are short.
    const ms = (this.#isReal ? Math.min(units, 11) : units) * this.unit
    this.#lines?.push(`advance(${ms})`)
    await this.#advance(ms)
    await this.begin()
    await this.look()
    this.compare()
  }

  /**
   * Makes a call and compares it with the reference.
   *
   * @param apply makes the same move in the reference and checks the answer; without an answer it reads the records
   * @param lost the reply is dropped
   */
  async call<Answer>(
    name: string,
    args: readonly unknown[],
    ask: () => Promise<Answer>,
    apply: (answer: Answer | undefined) => void,
    lost = false,
  ): Promise<Answer | undefined> {
    const lines = this.#lines
    lines?.push(`${name}(${args.map(show).join(', ')})${lost ? ', whose answer is lost' : ''}`)
    let answer: Answer | undefined
    let unknown = false
    try {
      answer = await ask()
    } catch (error) {
      if (!isHoldfastError(error, 'STORAGE_ERROR') || !(error as { maybeApplied?: boolean }).maybeApplied) throw error
      unknown = true
    }
    if (lines && !lost) lines.push(unknown ? '  → unknown' : `  → ${show(answer)}`)
    await this.look()
    this.world.moves++
    if (unknown) this.#applyOrNot(() => apply(undefined))
    else apply(lost ? undefined : answer)
    this.compare()
    return lost ? undefined : answer
  }

  /** The reply was lost: the records must show the state before or after the call. */
  #applyOrNot(apply: () => void): void {
    const before = structuredClone(this.world)
    try {
      apply()
      this.compare()
    } catch {
      this.world = before
      return
    }
    loseTurns(this.world, types)
    // Records do not show the order among waiting jobs.
    for (const [name, job] of this.world.jobs) {
      const earlier = before.jobs.get(name)
      const isTold = !earlier || earlier.runAt !== job.runAt || earlier.order.move === job.order.move
      if (!isTold) job.order = { ...job.order, unsure: true }
    }
  }

  /** Reads what the storage has. */
  protected async look(): Promise<void> {
    const records = await this.storage.get(universe, { parts })
    for (const [index, ref] of universe.entries()) this.#seen.set(nameOfRef(ref), records[index])
    const { limits, moves } = this.world
    this.#next = await this.storage.nextDueAt(
      types.map((type) => ({ type, leaseMs: 1_000, ...(limits.has(type) && { limits: limits.get(type)! }) })),
    )
    // The use of limits of one type at a time.
    const type = types[moves % types.length]!
    this.#counts = await this.storage.count({ types, limits: { type, limits: limits.get(type) ?? {}, groups } })
    this.world.slack = this.#counts.now - this.world.now
  }

  protected compare(): void {
    const { world } = this
    // Reads show the time now; the call wrote at some instant since `before`.
    world.now += world.slack
    for (const ref of universe) compareRecord(world, ref, this.seen(ref))
    compareCounts(world, types, this.#counts)
    compareNextDueAt(world, types, this.#next)
    world.slack = 0
    observe(world, types)
  }
}

const parts: readonly RecordPart[] = ['payload', 'result', 'error', 'attempts', 'progress', 'log', 'blockers', 'tail']
