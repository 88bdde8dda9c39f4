// Random calls on groups, limits, rates, holds and slow-downs. A call is made from what the calls before it left behind.

import type {
  Claim,
  ClaimType,
  JobGroup,
  LeaseRef,
  Limits,
  NewJob,
  Outcome,
  Storage,
} from '../../../src/storage/storage.ts'

export type Call = (storage: Storage) => Promise<unknown>

const types = ['a', 'b']
const groups = ['g', 'h', 'i']
const limitsOf: readonly (Limits | undefined)[] = [
  undefined,
  {},
  { concurrency: 2 },
  { rate: { limit: 4, perMs: 1_000 } },
  { group: { limit: 2 } },
  { group: { limit: 1, fair: false } },
  { group: { rate: { limit: 3, perMs: 400 } }, groups: { h: { limit: 1 } } },
  { concurrency: 4, rate: { limit: 6, perMs: 2_000 }, group: { limit: 2, rate: { limit: 4, perMs: 1_000 } } },
]

export class LimitCommands {
  readonly #random: () => number
  readonly #held: LeaseRef[] = []
  #made = 0

  constructor(random: () => number) {
    this.#random = random
  }

  /** Time that passes before the next call, in ms. */
  nextPause(): number {
    return this.#one([0, 0, 0, 1, 20, 50, 300, 1_500])
  }

  /** Notes what a call answered: the jobs of a claim are settled later. */
  note(answer: unknown): void {
    const { jobs = [] } = (answer ?? {}) as Partial<Claim>
    if (!Array.isArray(jobs)) return
    for (const { type, id, worker, attempt } of jobs as Claim['jobs']) this.#held.push({ type, id, worker, attempt })
  }

  next(): Call {
    const make = this.#one([
      ...Array.from({ length: 5 }, () => () => this.#add()),
      ...Array.from({ length: 6 }, () => () => this.#claim()),
      ...Array.from({ length: 6 }, () => () => this.#settle()),
      () => this.#change(),
      () => this.#change(),
      () => this.#read(),
    ])
    return make()
  }

  #add(): Call {
    const token = this.#chance(0.5) ? this.#name('t') : undefined
    const jobs = Array.from({ length: this.#one([1, 1, 2, 3]) }, () => this.#job(token))
    // Dependents of one job are unblocked in any order: each has a blocker of its own.
    if (token && this.#chance(0.3)) {
      const blocked = { ...this.#job(token), blockers: [jobs.length + 1] }
      jobs.push(blocked, { ...this.#job(token), id: this.#name('blocker') })
    }
    return (storage) => storage.add(jobs)
  }

  #job(token = this.#name('t')): NewJob {
    const failedMs = this.#one([0, this.#unique(500), 100_000])
    return {
      type: this.#one(types),
      id: this.#id(),
      token,
      retention: { completedMs: this.#one([0, 100_000]), failedMs, cancelledMs: 500 },
      payload: Buffer.from(token),
      ...this.#maybe(0.7, () => ({ group: this.#group() })),
      ...this.#maybe(0.4, () => ({ weight: this.#one([1, 2, 5]) })),
      ...this.#maybe(0.3, () => ({ priority: this.#one([-1, 1]) })),
      ...this.#maybe(0.3, () => ({ delayMs: this.#one([20, 300]) })),
      ...this.#maybe(0.4, () => ({ maxAttempts: this.#one([1, 2]) })),
      ...this.#maybe(0.2, () => ({ expiresInMs: this.#unique(400) })),
      ...this.#maybe(0.2, () => ({ maxWaiting: this.#one([{ type: 6 }, { group: 2 }]) })),
      ...this.#maybe(0.2, () => ({ onDuplicate: 'replace' as const })),
    }
  }

  /** Nearly always of the kind that the group has. */
  #group(): JobGroup {
    const key = this.#one(groups)
    if ((key === 'g') === this.#chance(0.05)) return { key }
    return this.#chance(0.5) ? { key, ordered: true } : { key, ordered: true, onFailure: 'hold' }
  }

  #claim(): Call {
    const worker = this.#name('w')
    const slots = this.#one([1, 2, 5])
    // Leases that run out together are taken back in any order: only claims of one job of each type have such leases.
    const wanted = this.#types().map((type) => (slots > 2 ? { ...type, leaseMs: 1e9 } : { ...type, slots: 1 }))
    const outcomes = this.#chance(0.2) ? this.#outcomes() : undefined
    return (storage) => storage.claim({ worker, slots, types: wanted, ...(outcomes && { outcomes }) })
  }

  #types(): ClaimType[] {
    return types.map((type) => {
      const limits = this.#one(limitsOf)
      return { type, leaseMs: this.#leaseMs(), ...(limits && { limits }), maxAttempts: 3 }
    })
  }

  #settle(): Call {
    const outcomes = this.#outcomes()
    return (storage) => storage.settle(outcomes)
  }

  #outcomes(): Outcome[] {
    const lease = this.#held.splice(Math.floor(this.#random() * this.#held.length), 1)[0]
    return lease ? [this.#outcome(lease)] : []
  }

  #outcome(lease: LeaseRef): Outcome {
    const delayMs = this.#one([0, 30, 600])
    const slowDown = this.#one(['type', 'group'] as const)
    return this.#one<() => Outcome>([
      () => ({ ...lease, kind: 'completed' }),
      () => ({ ...lease, kind: 'completed', add: [this.#job()] }),
      () => ({ ...lease, kind: 'failed', error: Buffer.from('no') }),
      () => ({ ...lease, kind: 'retry', delayMs }),
      () => ({ ...lease, kind: 'released' }),
      () => ({ ...lease, kind: 'released', delayMs, slowDown }),
      () => ({ ...lease, kind: 'continued', next: this.#job() }),
    ])()
  }

  #change(): Call {
    const jobs = [{ type: this.#one(types), id: this.#id() }]
    const type = this.#one(types)
    const paused = this.#chance(0.4)
    const ofGroup = this.#chance(0.7) ? { group: this.#one(groups) } : {}
    const delayMs = this.#one([0, 200])
    const leases = this.#held.slice(0, 1).map((lease) => ({ ...lease, leaseMs: this.#leaseMs() }))
    return this.#one<Call>([
      (storage) => storage.sweep({ limit: 10 }),
      (storage) => storage.cancel(jobs, { force: paused }),
      (storage) => storage.revive(jobs, { delayMs }),
      (storage) => storage.remove(jobs, { trees: paused }),
      (storage) => storage.pause({ type, ...ofGroup, paused }),
      (storage) => storage.pause({ type, ...ofGroup, paused: false }),
      (storage) => storage.extend(leases),
    ])
  }

  #read(): Call {
    const wanted = this.#types()
    const limits = this.#one(limitsOf) ?? {}
    if (this.#chance(0.5)) return (storage) => storage.nextDueAt(wanted)
    const [type] = types as [string]
    return (storage) => storage.count({ types, limits: { type, limits, groups } })
  }

  #leaseMs(): number {
    return this.#unique(this.#one([100, 2_000]))
  }

  /** A time that no other one equals: what happens at one instant happens in any order. */
  #unique(ms: number): number {
    return ms + ++this.#made / 1_000
  }

  #id(): string {
    return `j${Math.floor(this.#random() * 15)}`
  }

  #name(prefix: string): string {
    return `${prefix}${++this.#made}`
  }

  #one<T>(items: readonly T[]): T {
    return items[Math.floor(this.#random() * items.length)]!
  }

  #chance(share: number): boolean {
    return this.#random() < share
  }

  #maybe<T extends object>(share: number, fields: () => T): T | object {
    return this.#chance(share) ? fields() : {}
  }
}
