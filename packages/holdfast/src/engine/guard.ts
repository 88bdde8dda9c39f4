// The wrapper around the storage contract. Every call of the engine goes through it, except its own undo calls. It bounds each
// call in time, retries transient failures, turns failures into a StorageError, and publishes events. Drivers do none of that.

import type { Clock } from '../clock.ts'
import { StorageError } from '../errors.ts'
import { Availability } from './availability.ts'
import { endCall, type OpenCall, TimeLimits } from './call-time-limits.ts'
import { Turns } from './call-turns.ts'
import { isWatched, type PublishEvent } from './events.ts'
import { engineDefaults } from './defaults.ts'
import { asStorageError, effect, mayBeApplied } from './call-failure.ts'
import { answerOf } from '../storage/answered.ts'
import type { KeyValue } from '../storage/kv.ts'
import type { Claim, LeaseRef, Outcome, Storage, Unlisten } from '../storage/storage.ts'

const moves = ['add', 'claim', 'extend', 'settle', 'recover', 'cancel', 'revive', 'remove', 'pause', 'sweep'] as const
const reads = ['get', 'list', 'count', 'nextDueAt'] as const
/** Never repeated: each call changes a reference count. */
const refCounted = ['connect', 'disconnect', 'listen'] as const
/** Calls of a worker, which waits for a turn of the event loop between them anyway. */
const workerVerbs: readonly string[] = ['claim', 'extend', 'settle', 'nextDueAt']
/** Calls that workers and schedulers make by themselves, beside those to the key-value store: after a stop, none is repeated. */
const endedByStop: readonly string[] = [...workerVerbs, 'sweep', 'count', 'get']
const kvMoves = ['set', 'setIfAbsent', 'cas', 'delete'] as const
const kvReads = ['get', 'list'] as const

type Verb = (typeof moves | typeof reads | typeof refCounted)[number]
/** A storage whose verbs are wrapped in guardCall. */
export type GuardedStorage = Pick<Storage, Verb | 'driver' | 'features' | 'settings' | 'transaction' | 'diagnose'> & {
  readonly kv: KeyValue
  /** How long the storage has not answered, in ms: since the first call without an answer was sent. 0 while it answers. */
  unansweredMs(): number
  /** Ends the repeats of calls under way that workers and schedulers made. To be called by one that has stopped: it must be silent then. */
  endRepeats(): void
}

type Method = (...args: unknown[]) => Promise<unknown>

export function guardStorage(storage: Storage, clock: Clock, publishEvent: PublishEvent): GuardedStorage {
  const { driver, features, settings } = storage
  const guarded: Record<string, unknown> = { driver, features, settings }
  const availability = new Availability(driver, clock, publishEvent)
  const turns = new Turns(clock)
  const timeLimits = new TimeLimits(clock)
  const stops = { count: 0 }
  const kv: Record<string, unknown> = {}
  const wrap = (target: object, verb: string, writes: boolean, repeats: boolean): Method => {
    const method = (target as Record<string, Method>)[verb]!.bind(target)
    const undo = undoOf(storage, verb)
    const takesTurns = !workerVerbs.includes(verb)
    const guardedVerb = {
      driver,
      verb,
      method,
      writes,
      repeats,
      undo,
      clock,
      publishEvent,
      settings,
      availability,
      turns,
      takesTurns,
      timeLimits,
      stops: target === storage.kv || endedByStop.includes(verb) ? stops : undefined,
    }
    return (...args) => guardCall(guardedVerb, args)
  }
  // A claim is not repeated: it would be a second claim. The jobs of a lost one come back when their leases end.
  for (const verb of moves) guarded[verb] = wrap(storage, verb, true, verb !== 'claim')
  for (const verb of reads) guarded[verb] = wrap(storage, verb, false, true)
  for (const verb of refCounted) guarded[verb] = wrap(storage, verb, false, false)
  const listen = guarded.listen as Storage['listen']
  guarded.listen = async (...args: Parameters<Storage['listen']>): Promise<Unlisten> => {
    const unlisten = await listen(...args)
    return wrap({ unlisten }, 'unlisten', false, false) as Unlisten
  }
  if (storage.diagnose) guarded.diagnose = wrap(storage, 'diagnose', false, true)
  if (storage.transaction) guarded.transaction = guardTransaction(storage, clock, publishEvent)
  for (const verb of kvMoves) kv[verb] = wrap(storage.kv, verb, true, false)
  for (const verb of kvReads) kv[verb] = wrap(storage.kv, verb, false, true)
  const unansweredMs = (): number => availability.unansweredMs
  const endRepeats = (): void => void stops.count++
  return { ...guarded, kv, unansweredMs, endRepeats } as unknown as GuardedStorage
}

function isInTransaction(verb: string, second: unknown): boolean {
  if (verb === 'add' || verb === 'settle') return second !== undefined
  return (second as { tx?: unknown } | null | undefined)?.tx !== undefined
}

/** Not bounded in time. An error of the user's function passes unchanged. */
function guardTransaction(
  storage: Storage,
  clock: Clock,
  publishEvent: PublishEvent,
): NonNullable<Storage['transaction']> {
  const { driver } = storage
  return async (run) => {
    const startedAt = clock.monotonic()
    let thrown: { readonly error: unknown } | undefined
    const publish = (ok: boolean): void =>
      publishEvent({ name: 'storage_call', driver, verb: 'transaction', ok, ms: clock.monotonic() - startedAt })
    try {
      const answer = await storage.transaction!(async (tx) => {
        try {
          return await run(tx)
        } catch (error) {
          thrown = { error }
          throw error
        }
      })
      publish(true)
      return answer
    } catch (error) {
      publish(false)
      if (thrown?.error === error) throw error
      throw asStorageError(error, { driver, verb: 'transaction' }, mayBeApplied(error, { writes: true }))
    }
  }
}

/** The call that undoes a connect, listen or claim whose answer came after its time: no caller is left to use it. */
function undoOf(storage: Storage, verb: string): ((answer: unknown) => Promise<void>) | undefined {
  if (verb === 'connect') return () => storage.disconnect()
  if (verb === 'listen') return (unlisten) => (unlisten as Unlisten)()
  // Released at once: without a worker the jobs would wait for the end of their leases, and each lose an attempt.
  if (verb === 'claim') {
    return async (claim) => {
      const { jobs } = claim as Claim
      if (jobs.length > 0) await storage.settle(jobs.map(released))
    }
  }
  return undefined
}

const released = ({ type, id, worker, attempt }: LeaseRef): Outcome => ({ type, id, worker, attempt, kind: 'released' })

/** A verb of the driver, for all calls to it. */
interface GuardedVerb {
  readonly method: Method
  readonly undo: ((answer: unknown) => Promise<void>) | undefined
  readonly driver: string
  readonly verb: string
  readonly writes: boolean
  readonly repeats: boolean
  readonly clock: Clock
  readonly publishEvent: PublishEvent
  readonly settings: Storage['settings']
  readonly availability: Availability
  readonly turns: Turns
  /** Whether it may wait for a turn of the event loop after its answer. */
  readonly takesTurns: boolean
  readonly timeLimits: TimeLimits
  /** How often workers or schedulers have stopped. Undefined: its repeats do not end with a stop. */
  readonly stops: { readonly count: number } | undefined
}

/**
 * One promise for the first try, which is nearly always the only one: a worker with one slot makes a call per job. None at all for a
 * storage that has answered when its call returns.
 */
function guardCall(guarded: GuardedVerb, args: unknown[]): Promise<unknown> {
  const startedAt = guarded.clock.monotonic()
  const stops = guarded.stops?.count
  const answer = callOf(guarded, args)
  if (answerOf(answer) !== undefined) {
    publishAnswered(guarded, startedAt)
    return guarded.takesTurns && guarded.turns.isDue() ? guarded.turns.next().then<unknown>(() => answer) : answer
  }
  return new Promise((resolve) => {
    bound(guarded, answer, startedAt + guarded.settings.callTimeoutMs, {
      succeed: (value) => {
        publishAnswered(guarded, startedAt)
        if (guarded.takesTurns && guarded.turns.isDue()) void guarded.turns.next().then(() => resolve(value))
        else resolve(value)
      },
      // Resolves with what the repeats end in.
      fail: (error) => resolve(repeat(guarded, args, { startedAt, stops, error })),
    })
  })
}

interface FirstTry {
  /** Local, monotonic ms. */
  readonly startedAt: number
  /** How often workers or schedulers had stopped by then. */
  readonly stops: number | undefined
  readonly error: unknown
}

/** Repeats a call that failed, until it is answered, its time is over, or the worker that made it has stopped. */
async function repeat(guarded: GuardedVerb, args: unknown[], { startedAt, stops, error }: FirstTry): Promise<unknown> {
  const { clock, verb, driver, publishEvent } = guarded
  const deadline = startedAt + guarded.settings.callTimeoutMs
  const isStopped = (): boolean => guarded.stops?.count !== stops
  let pauseMs: number = engineDefaults.retryMs
  let maybeApplied = false
  for (;;) {
    maybeApplied ||= mayBeApplied(error, guarded)
    const waitMs = pauseMs * (0.5 + clock.random() / 2)
    const hasTime = clock.monotonic() + waitMs < deadline
    const isRepeated = isRepeatable(guarded, args) && isTransient(error) && hasTime && !isStopped()
    if (isRepeated) await new Promise<void>((resolve) => void clock.after(waitMs, resolve))
    if (!isRepeated || isStopped()) {
      if (isWatched())
        publishEvent({ name: 'storage_call', driver, verb, ok: false, ms: clock.monotonic() - startedAt })
      const failure = asStorageError(error, guarded, maybeApplied)
      guarded.availability.failed(failure, startedAt)
      throw failure
    }
    pauseMs = Math.min(2 * pauseMs, 1_000)
    try {
      const value = await new Promise((succeed, fail) =>
        bound(guarded, callOf(guarded, args), deadline, { succeed, fail }),
      )
      publishAnswered(guarded, startedAt)
      return value
    } catch (next) {
      error = next
    }
  }
}

function publishAnswered({ clock, verb, driver, publishEvent, availability }: GuardedVerb, startedAt: number): void {
  // Only the channel has subscribers of this event.
  if (isWatched()) publishEvent({ name: 'storage_call', driver, verb, ok: true, ms: clock.monotonic() - startedAt })
  availability.answered()
}

/** Never inside a transaction: an error there fails the transaction, and only all of it can be repeated. */
const isRepeatable = ({ repeats, verb }: GuardedVerb, args: readonly unknown[]): boolean =>
  repeats && !isInTransaction(verb, args[1])

interface Answering {
  succeed(answer: unknown): void
  fail(error: unknown): void
}

/** Calls the verb. A storage may throw instead of rejecting. */
function callOf({ method }: GuardedVerb, args: unknown[]): Promise<unknown> {
  try {
    return method(...args)
  } catch (error) {
    return Promise.reject<unknown>(error as Error)
  }
}

/** Calls back once: with the answer of a call, its error, or a timeout. */
function bound(guarded: GuardedVerb, answer: Promise<unknown>, deadline: number, { succeed, fail }: Answering): void {
  const { undo, driver, verb, writes, settings } = guarded
  const call: OpenCall = {
    deadline,
    isOver: false,
    timer: undefined,
    onTimeout: () => {
      call.isOver = true
      const message = `${driver} storage: ${verb} was not answered within ${settings.callTimeoutMs} ms. ${effect(writes)}`
      fail(new StorageError(message, { maybeApplied: writes, reason: 'timeout' }))
      if (undo) answer.then(undo).catch(() => {})
    },
  }
  guarded.timeLimits.add(call)
  void answer.then<unknown, unknown>(
    (value) => endCall(call) && succeed(value),
    (error: unknown) => endCall(call) && fail(error),
  )
}

const isTransient = (error: unknown): boolean =>
  error !== null && typeof error === 'object' && 'transient' in error && error.transient === true
