// A queue that is watched: each call to its storage, each event, and what the storage holds. For what must do nothing.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { inspect } from 'node:util'
import type { Queue, QueueConfig, QueueEvents, Storage } from 'holdfast'
import { bench, sleep, type TestDriver } from './driver.ts'
import { type Faulty, faulty, type Rule, type Verb } from './faulty-storage.ts'

const eventNames = 'started stopped error enqueued completed failing failed stalled fenced requeued cancelled'

export type Emitted = [name: keyof QueueEvents, ...args: unknown[]]

/** Everything that the queue emits from now on, in order: name, then arguments. */
export function record<P, R>(queue: Queue<P, R>, emitted: Emitted[] = []): Emitted[] {
  for (const name of eventNames.split(' ') as (keyof QueueEvents)[]) {
    ;(queue as Queue<P, unknown>).on(name, (...args: unknown[]) => void emitted.push([name, ...args]))
  }
  return emitted
}

export interface Watched {
  /** Not started; nothing of it has touched the storage. */
  readonly queue: Queue<unknown, unknown>
  /** Another one, watched as well. */
  another(config: Partial<QueueConfig<unknown, unknown>>): Queue<unknown, unknown>
  /** The storage with its calls counted. */
  readonly storage: Storage
  /** Asserts that it calls nothing, emits nothing and writes nothing. */
  unmoved(run: () => unknown): Promise<void>
}

/** On a storage that is not empty: 'there' waits, 'over' is cancelled. */
export async function watched(t: TestContext, driver: TestDriver): Promise<Watched> {
  const { storage, queue: newQueue } = await bench(t, driver)
  const other = newQueue()
  await other.enqueue('there', 'payload')
  await other.enqueue('over', 'payload')
  await other.cancel('over')
  const line = faulty(storage)
  const emitted: Emitted[] = []
  const another = (config: Partial<QueueConfig<unknown, unknown>>): Queue<unknown, unknown> => {
    const queue = newQueue({ storage: line.storage, ...config })
    record(queue, emitted)
    return queue
  }
  return {
    queue: another({}),
    another,
    storage: line.storage,
    async unmoved(run) {
      const before = await contentOf(storage)
      const called = line.calls.length
      emitted.length = 0
      await run()
      await sleep(5)
      const verbs = line.calls.slice(called).map(({ verb }) => verb)
      assert.deepEqual(verbs, [], 'the storage was called')
      assert.deepEqual(emitted, [], 'something was emitted')
      assert.deepEqual(await contentOf(storage), before, 'something was written')
    },
  }
}

/** All that is in the storage, up to 1000 jobs. */
async function contentOf(storage: Storage): Promise<unknown> {
  await storage.connect()
  try {
    const jobs = await storage.list({ of: 'jobs', limit: 1_000, parts: ['payload', 'result', 'error', 'attempts'] })
    const { types } = await storage.count({})
    return { jobs, types, kv: await storage.kv.list([], { limit: 1_000 }) }
  } finally {
    await storage.disconnect()
  }
}

/** A call that is refused: it rejects with a TypeError INVALID_ARGUMENT "… expected …, got …" that names the argument. */
export async function rejectsInput(argument: string, value: unknown, call: () => unknown): Promise<void> {
  const promise = call()
  const what = `${argument} ${shown(value)}`
  assert.ok(promise instanceof Promise, `${what}: no promise`)
  const error: unknown = await promise.then(
    () => assert.fail(`${what} was accepted`),
    (reason: unknown) => reason,
  )
  assertRefusal(argument, value, error)
}

/** The same of a constructor, or of a method that returns no promise: it throws. */
export function throwsInput(argument: string, value: unknown, call: () => unknown): void {
  let error: unknown
  try {
    call()
  } catch (thrown) {
    error = thrown
  }
  assert.ok(error, `${argument} ${shown(value)} was accepted`)
  assertRefusal(argument, value, error)
}

function assertRefusal(argument: string, value: unknown, error: unknown): void {
  const what = `${argument} ${shown(value)}: ${String(error)}`
  assert.ok(error instanceof TypeError, what)
  assert.equal((error as { code?: unknown }).code, 'INVALID_ARGUMENT', what)
  assert.match(error.message, /^[^:]+: expected .+, got ./s)
  const [subject] = error.message.split(':', 1)
  assert.ok(subject!.split(/[ .]/).includes(argument), `it does not name the argument: ${what}`)
}

function shown(value: unknown): string {
  return inspect(value, { depth: 0, breakLength: Infinity, maxStringLength: 40 })
}

/**
 * Holds the answer to the next such call: made, and not yet answered.
 * @param verb 'outcomes': a claim or settle that carries some
 */
export function answersHeld(line: Faulty, verb: Verb | 'outcomes'): { arrived: Promise<void>; release: () => void } {
  const [arrived, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let isHeld = false
  const hold: Rule = async (apply, { args }) => {
    const answer = await apply()
    const [given] = args as [{ outcomes?: unknown[] } | unknown[] | undefined]
    const outcomes = Array.isArray(given) ? given : given?.outcomes
    if (isHeld || (verb === 'outcomes' && !outcomes?.length)) return answer
    isHeld = true
    arrived.resolve()
    await released.promise
    return answer
  }
  for (const each of verb === 'outcomes' ? ['claim', 'settle'] : [verb]) line.on(each, hold)
  return { arrived: arrived.promise, release: () => released.resolve() }
}
