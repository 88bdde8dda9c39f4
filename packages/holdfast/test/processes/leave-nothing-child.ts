// A process of leave-nothing.test.ts: uses every face on one storage, twice, stops and closes all of it, says what is left, and should
// then end by itself.

import assert from 'node:assert/strict'
import { createHook } from 'node:async_hooks'
import { type EventEmitter, getEventListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { Queue, Reaper, type Storage } from 'holdfast'
import { createClient, createInProcessWorker, defineJobTypes } from 'holdfast/chains'
import { createTasks } from 'holdfast/tasks'
import { say } from './say.ts'
import { type Spec, storageMaker } from './spec.ts'

/** What stays until it is closed, cleared or over, whether it keeps the process alive or not. */
const kinds = /^(Timeout|Immediate|TCP|PIPE|TLS|UDP|FSEVENT|STATWATCHER|WORKER|MESSAGEPORT|Signal)/i
/** Longer than the test waits: a timer that was forgotten shows. */
const longMs = 600_000

const spec = JSON.parse(process.argv[2]!) as Spec
const newStorage = await storageMaker(spec)
const user = new AbortController()
const chainTypes = defineJobTypes<{ double: { entry: true; input: number; output: number } }>()
/** A Standard Schema. */
const anything = {
  '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value: value as number }) },
} as const

async function queues(asked: Storage, worked: Storage, name: string): Promise<void> {
  const { signal } = user
  const schedules = { every: { payload: 0, everyMs: longMs } }
  const settings = { name, leaseMs: longMs, visibilityTimeout: longMs, pollMs: longMs }
  const working = new Queue<number, number>({ ...settings, storage: worked, concurrency: 2, schedules })
  const asking = new Queue<number, number>({ ...settings, storage: asked })
  working.execute(({ payload }) => payload)
  await Promise.all([working.start(), asking.start()])
  // Responses one after the other, so that jobs are handed over; then more than slots, so that they are held ahead.
  for (let n = 0; n < 20; n++) assert.equal(await asking.enqueueAndWait(`one-${n}`, n, { signal }), n)
  await Promise.all(Array.from({ length: 300 }, (_, n) => asking.enqueueAndWait(`many-${n}`, n, { signal })))
  await asking.enqueue('later', 0, { delayMs: longMs })
  const events = working.events({ signal })
  await events.ready
  const reaper = new Reaper({ storage: worked, leaderElection: { enabled: true, lockTTL: longMs } })
  await reaper.start()
  await Promise.all([reaper.stop(), working.stop(), asking.stop()])
}

async function chains(storage: Storage): Promise<void> {
  const client = await createClient({ storage, jobTypeRegistry: chainTypes })
  const worker = await createInProcessWorker({
    storage,
    jobTypeRegistry: chainTypes,
    jobTypeProcessors: { double: { process: async ({ job, complete }) => complete(2 * job.input) } },
  })
  await worker.start()
  const chain = await client.startJobChain({ typeName: 'double', input: 2 })
  assert.equal((await client.waitForJobChainCompletion(chain, { timeoutMs: longMs, signal: user.signal })).output, 4)
  await worker.stop()
  await client.close()
}

async function tasks(storage: Storage): Promise<void> {
  const all = createTasks({ storage })
  const ran = Promise.withResolvers<void>()
  const task = all.defineTask('any', { schema: anything, handler: () => ran.resolve() })
  await all.start({ signal: user.signal })
  await all.enqueueTask(task, 1)
  await ran.promise
  await all.close()
}

/** A storage on a client of the user. */
interface Given {
  readonly onClient: () => Storage
  readonly client: EventEmitter
  readonly end: () => Promise<unknown>
}

async function given(): Promise<Given | undefined> {
  if (spec.driver === 'redis') {
    const [{ Redis }, { RedisStorage }] = [await import('iovalkey'), await import('holdfast/redis')]
    const client = new Redis(spec.at)
    const onClient = (): Storage => new RedisStorage({ client, prefix: spec.prefix })
    return { onClient, client, end: () => client.quit() }
  }
  if (spec.driver === 'postgres') {
    const [{ Pool }, { PostgresStorage }] = [await import('pg'), await import('holdfast/postgres')]
    const client = new Pool({ connectionString: spec.at })
    const onClient = (): Storage => new PostgresStorage({ client, schema: spec.prefix })
    return { onClient, client, end: () => client.end() }
  }
  return undefined
}

/** @returns how many listeners the client of the user has: before, and after everything was stopped and closed */
async function lifeOnGiven(name: string): Promise<readonly [object, object]> {
  const on = await given()
  if (!on) return [{}, {}]
  const { onClient, client, end } = on
  const [asked, worked] = [onClient(), onClient()]
  const before = listenersOf(client)
  await useAll(asked, worked, name)
  const after = listenersOf(client)
  await end()
  return [before, after]
}

async function useAll(asked: Storage, worked: Storage, name: string): Promise<void> {
  await queues(asked, worked, name)
  await chains(asked)
  await tasks(asked)
}

/** @returns the listeners of the process, of the user's signal and of a client of the user: before, and after */
async function oneLife(name: string): Promise<readonly [object, object]> {
  const before = listeners()
  const asked = newStorage()
  await useAll(asked, spec.driver === 'memory' ? asked : newStorage(), name)
  const [clientBefore, clientAfter] = await lifeOnGiven(`${name}, given`)
  return [
    { ...before, client: clientBefore },
    { ...listeners(), client: clientAfter },
  ]
}

const listenersOf = (emitter: EventEmitter): Record<string, number> =>
  Object.fromEntries(emitter.eventNames().map((name) => [String(name), emitter.listenerCount(name)]))

const listeners = (): object => ({
  process: listenersOf(process),
  abort: getEventListeners(user.signal, 'abort').length,
})

const active = (): string[] => process.getActiveResourcesInfo().toSorted()
const open = new Map<number, string>()
let isOpen = false
createHook({
  init: (id, kind) => void (isOpen && kinds.test(kind) && open.set(id, kind)),
  destroy: (id) => void open.delete(id),
}).enable()

const before = { active: active(), open: [] }
// What a process loads and opens once is not left over.
await oneLife('first')
isOpen = true
const listened = await oneLife('second')
isOpen = false
const stoppedAt = performance.now()
const look = (): object => ({
  ms: Math.round(performance.now() - stoppedAt),
  active: active(),
  open: [...open.values()],
})
const looks = [look()]
for (const ms of [5, 20, 100, 1_000]) {
  // Sockets close, and the hook is told, a little later.
  if (isDeepStrictEqual(active(), before.active) && open.size === 0) break
  await sleep(ms)
  looks.push(look())
}
say({ before, looks, listeners: listened })
