// The wrapper around the storage contract: every call of the engine goes through it, except its own undo calls. It bounds each
// call in time, retries transient failures, turns failures into a StorageError, and publishes events. Drivers have none of that.

import type { Clock } from '../clock.ts'
import { isHoldfastError, StorageError } from '../errors.ts'
import type { Tell } from './events.ts'
import { engineDefaults } from './defaults.ts'
import type { KeyValue } from '../storage/kv.ts'
import type { Claim, LeaseRef, Outcome, Storage, Unlisten } from '../storage/storage.ts'

const moves = ['add', 'claim', 'extend', 'settle', 'recover', 'cancel', 'revive', 'remove', 'pause', 'sweep'] as const
const reads = ['get', 'list', 'count', 'nextDueAt'] as const
/** Never repeated: what they open or close is counted. */
const counted = ['connect', 'disconnect', 'listen'] as const
const kvMoves = ['set', 'setIfAbsent', 'cas', 'delete'] as const
const kvReads = ['get', 'list'] as const

type Verb = (typeof moves | typeof reads | typeof counted)[number]
/** Each verb is guardCall around the driver's. */
export type GuardedStorage = Pick<Storage, Verb | 'driver' | 'features' | 'settings' | 'transaction'> & {
  readonly kv: KeyValue
}

type Method = (...args: unknown[]) => Promise<unknown>

export function guardStorage(storage: Storage, clock: Clock, tell: Tell): GuardedStorage {
  const { driver, features, settings } = storage
  const guarded: Record<string, unknown> = { driver, features, settings }
  const availability = new Availability(driver, clock, tell)
  const kv: Record<string, unknown> = {}
  const wrap = (target: object, verb: string, writes: boolean, repeats: boolean): Method => {
    const method = (target as Record<string, Method>)[verb]!.bind(target)
    const undo = undoOf(storage, verb)
    const fixed = { driver, verb, writes, repeats, undo, clock, tell, settings, availability }
    // An error inside a transaction is the whole transaction's: only all of it can be repeated.
    return (...args) =>
      guardCall({ ...fixed, send: () => method(...args), repeats: repeats && !isInTransaction(verb, args[1]) })
  }
  // A repeated claim would be another claim: its jobs come back by their lease instead.
  for (const verb of moves) guarded[verb] = wrap(storage, verb, true, verb !== 'claim')
  for (const verb of reads) guarded[verb] = wrap(storage, verb, false, true)
  for (const verb of counted) guarded[verb] = wrap(storage, verb, false, false)
  const listen = guarded.listen as Storage['listen']
  guarded.listen = async (...args: Parameters<Storage['listen']>): Promise<Unlisten> => {
    const unlisten = await listen(...args)
    return wrap({ unlisten }, 'unlisten', false, false) as Unlisten
  }
  if (storage.transaction) guarded.transaction = guardTransaction(storage, clock, tell)
  for (const verb of kvMoves) kv[verb] = wrap(storage.kv, verb, true, false)
  for (const verb of kvReads) kv[verb] = wrap(storage.kv, verb, false, true)
  return { ...guarded, kv } as unknown as GuardedStorage
}

function isInTransaction(verb: string, second: unknown): boolean {
  if (verb === 'add' || verb === 'settle') return second !== undefined
  return (second as { tx?: unknown } | null | undefined)?.tx !== undefined
}

/** Takes as long as it takes. What its function throws comes through as it is. */
function guardTransaction(storage: Storage, clock: Clock, tell: Tell): NonNullable<Storage['transaction']> {
  const { driver } = storage
  return async (run) => {
    const startedAt = clock.monotonic()
    let own: { readonly error: unknown } | undefined
    const told = (ok: boolean): void =>
      tell({ name: 'storage_call', driver, verb: 'transaction', ok, ms: clock.monotonic() - startedAt })
    try {
      const answer = await storage.transaction!(async (tx) => {
        try {
          return await run(tx)
        } catch (error) {
          own = { error }
          throw error
        }
      })
      told(true)
      return answer
    } catch (error) {
      told(false)
      throw own?.error === error ? error : asStorageError(error, 'transaction', mayBeApplied(error, { writes: true }))
    }
  }
}

/** What opens or takes something is undone when it comes through after its time: nobody would close it. */
function undoOf(storage: Storage, verb: string): ((answer: unknown) => Promise<void>) | undefined {
  if (verb === 'connect') return () => storage.disconnect()
  if (verb === 'listen') return (unlisten) => (unlisten as Unlisten)()
  // Jobs that nobody runs would lose their lease, and an attempt with it.
  if (verb === 'claim') return async (claim) => void (await storage.settle((claim as Claim).jobs.map(released)))
  return undefined
}

const released = ({ type, id, worker, attempt }: LeaseRef): Outcome => ({ type, id, worker, attempt, kind: 'released' })

/** One call on its way to the driver. */
interface Call {
  readonly send: () => Promise<unknown>
  readonly undo: ((answer: unknown) => Promise<void>) | undefined
  readonly driver: string
  readonly verb: string
  readonly writes: boolean
  readonly repeats: boolean
  readonly clock: Clock
  readonly tell: Tell
  readonly settings: Storage['settings']
  readonly availability: Availability
}

async function guardCall(call: Call): Promise<unknown> {
  const { clock, verb, driver, tell } = call
  const startedAt = clock.monotonic()
  const deadline = startedAt + call.settings.callTimeoutMs
  let pauseMs: number = engineDefaults.retryMs
  let maybeApplied = false
  for (;;) {
    try {
      const answer = await withinTime(call, deadline - clock.monotonic())
      tell({ name: 'storage_call', driver, verb, ok: true, ms: clock.monotonic() - startedAt })
      call.availability.answered()
      return answer
    } catch (error) {
      maybeApplied ||= mayBeApplied(error, call)
      const waitMs = pauseMs * (0.5 + clock.random() / 2)
      if (call.repeats && isTransient(error) && clock.monotonic() + waitMs < deadline) {
        await new Promise<void>((resolve) => void clock.after(waitMs, resolve))
        pauseMs = Math.min(2 * pauseMs, 1_000)
        continue
      }
      tell({ name: 'storage_call', driver, verb, ok: false, ms: clock.monotonic() - startedAt })
      const failure = asStorageError(error, verb, maybeApplied)
      call.availability.failed(failure)
      throw failure
    }
  }
}

/** Publishes `connection_lost` with the first call that gets no answer, and `connection_restored` with the next that does. */
class Availability {
  readonly #driver: string
  readonly #clock: Clock
  readonly #tell: Tell
  #lostAt: number | undefined

  constructor(driver: string, clock: Clock, tell: Tell) {
    this.#driver = driver
    this.#clock = clock
    this.#tell = tell
  }

  answered(): void {
    if (this.#lostAt === undefined) return
    const ms = this.#clock.monotonic() - this.#lostAt
    this.#lostAt = undefined
    this.#tell({ name: 'connection_restored', driver: this.#driver, ms })
  }

  failed(failure: unknown): void {
    if (this.#lostAt !== undefined || !isUnavailable(failure)) return
    this.#lostAt = this.#clock.monotonic()
    this.#tell({ name: 'connection_lost', driver: this.#driver, error: failure as Error })
  }
}

/** The storage gave no answer, or a transient failure: another call at once would fail too. */
export function isUnavailable(error: unknown): boolean {
  if (!isHoldfastError(error, 'STORAGE_ERROR')) return false
  const { cause } = error
  return cause === undefined || (cause as { transient?: unknown } | null)?.transient === true
}

async function withinTime({ send, undo, clock, verb, writes, settings }: Call, leftMs: number): Promise<unknown> {
  let answer: Promise<unknown> | undefined
  const late = Promise.withResolvers<never>()
  const timer = clock.after(leftMs, () => {
    const message = `the storage did not answer ${verb} within ${settings.callTimeoutMs} ms`
    late.reject(new StorageError(message, { maybeApplied: writes }))
    if (undo) answer!.then(undo).catch(() => {})
  })
  try {
    answer = send()
    return await Promise.race([answer, late.promise])
  } finally {
    timer.cancel()
  }
}

const isTransient = (error: unknown): boolean =>
  error !== null && typeof error === 'object' && 'transient' in error && error.transient === true

/** Unless the driver knows better. */
function mayBeApplied(error: unknown, { writes }: Pick<Call, 'writes'>): boolean {
  const { maybeApplied } = (error ?? {}) as { maybeApplied?: unknown }
  return typeof maybeApplied === 'boolean' ? maybeApplied : writes
}

/** @param maybeApplied in any of its tries */
function asStorageError(error: unknown, verb: string, maybeApplied: boolean): unknown {
  // The last try may know that it was not applied; an earlier one may have been.
  const isTooSure = maybeApplied && (error as { maybeApplied?: unknown } | null)?.maybeApplied === false
  if (isHoldfastError(error)) return isTooSure ? new StorageError(error.message, { cause: error, maybeApplied }) : error
  const { code, message = 'unknown' } = (error ?? {}) as { code?: unknown; message?: unknown }
  if (code === 'INVALID_ARGUMENT') return error
  return new StorageError(`the storage failed at ${verb}: ${String(message)}`, { cause: error, maybeApplied })
}
