// A Queue, tasks, chains and a Fedify queue of one name on one storage: each job runs once, in the face that added it. Values of
// every kind come back equal through each of them, and what cannot be stored is refused with its path.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { HoldfastMessageQueue } from '@holdfast/fedify'
import { Queue, SerializationError } from 'holdfast'
import { createClient, createInProcessWorker, defineJobTypes } from 'holdfast/chains'
import { parseType } from 'holdfast/storage'
import { createTasks, StorageMessageQueue } from 'holdfast/tasks'
import { processDrivers, stopServers } from '../../holdfast/test/processes/drivers.ts'

after(stopServers)

/** The same name in every face. */
const name = 'mail'
const jobs = 200
const ids = (face: string): string[] => Array.from({ length: jobs }, (_, index) => `${face}-${index}`)

/** Any Standard Schema: this one accepts every value. */
const anything = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } } as const

const types = defineJobTypes<{ mail: { entry: true; input: unknown; output: unknown } }>()

/** What ran, by face: how often each id. */
class Runs {
  readonly #runs = new Map<string, number>()

  add(face: string, id: string): void {
    const key = `${face} ran ${id}`
    this.#runs.set(key, (this.#runs.get(key) ?? 0) + 1)
  }

  get total(): number {
    return [...this.#runs.values()].reduce((sum, count) => sum + count, 0)
  }

  /** Every id of a face ran once, in that face, and nothing else ran. */
  assertApart(faces: readonly string[]): void {
    const expected = faces.flatMap((face) => ids(face).map((id) => [`${face} ran ${id}`, 1] as const))
    assert.deepEqual(Object.fromEntries([...this.#runs].toSorted()), Object.fromEntries(expected.toSorted()))
  }
}

for (const driver of Object.values(processDrivers)) {
  test(`${driver.name}: four faces of one name on one storage, ${jobs} jobs each, two workers each: every job ran once, in its own face`, async (t) => {
    const place = await driver.open()
    const runs = new Runs()
    const stops: (() => Promise<unknown>)[] = []
    const storage = place.storage()
    t.after(async () => {
      await Promise.all(stops.map((stop) => stop()))
      await storage.disconnect()
      await place.close()
    })
    await storage.connect()
    const adders = {
      queue: new Queue<string, string>({ storage, name }),
      tasks: createTasks({ queue: new StorageMessageQueue(storage, { name }) }),
      chains: await createClient({ storage, jobTypeRegistry: types }),
      fedify: new HoldfastMessageQueue(storage, { name }),
    }
    const task = adders.tasks.defineTask(name, { schema: anything, handler: () => {} })
    // The same ids in every face: one that deduplicated against another would lose a job.
    await Promise.all(ids('job').map((id) => adders.queue.enqueue(id, `queue-${id.slice(4)}`)))
    await Promise.all(
      ids('job').map((id) => adders.tasks.enqueueTask(task, `tasks-${id.slice(4)}`, { deduplicationKey: id })),
    )
    await adders.chains.startJobChains({
      items: ids('job').map((id) => ({ typeName: 'mail', id, input: `chains-${id.slice(4)}` })),
    })
    await Promise.all(ids('job').map((id) => adders.fedify.enqueue({ id: `fedify-${id.slice(4)}` })))
    const { types: counts } = await storage.count({})
    assert.deepEqual(
      counts.map(({ type, due }) => [parseType(type).face, parseType(type).name, due]).toSorted(),
      ['chain', 'fedify', 'queue', 'task'].map((face) => [face, name, jobs]),
    )

    for (let worker = 0; worker < 2; worker++) {
      const own = place.storage()
      const queue = new Queue<string, string>({ storage: own, name, concurrency: 10 })
      queue.execute((job) => {
        runs.add('queue', job.payload)
        return job.payload
      })
      const tasks = createTasks({ queue: new StorageMessageQueue(own, { name }) })
      tasks.defineTask(name, { schema: anything, handler: (_context, data) => runs.add('tasks', data as string) })
      const chains = await createInProcessWorker({
        storage: own,
        jobTypeRegistry: types,
        concurrency: 10,
        jobTypeProcessors: {
          mail: {
            process: ({ job, complete }) => {
              runs.add('chains', job.input as string)
              return complete(job.input)
            },
          },
        },
      })
      const fedify = new HoldfastMessageQueue(own, { name })
      const listening = new AbortController()
      const ended = fedify.listen(({ id }: { id: string }) => runs.add('fedify', id), { signal: listening.signal })
      await Promise.all([queue.start(), tasks.start(), chains.start()])
      stops.push(
        () => queue.stop(),
        () => tasks.stop(),
        () => chains.stop(),
        () => (listening.abort(), ended),
      )
    }
    await until(() => runs.total >= 4 * jobs)
    // A job that another face took would have run there by now, or still wait.
    await until(async () => (await storage.count({})).types.every(({ states, due }) => due + states.processing === 0))
    runs.assertApart(['queue', 'tasks', 'chains', 'fedify'])
    const results = await Promise.all(ids('job').map((id) => adders.queue.getResult(id)))
    assert.deepEqual(results, ids('queue'))
  })
}

async function until(condition: () => boolean | Promise<boolean>, ms = 90_000): Promise<void> {
  const deadline = performance.now() + ms
  while (!(await condition())) {
    assert.ok(performance.now() < deadline, `did not come true within ${ms} ms`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Names the path of the function, in the error and in its message. */
const refused = (error: unknown): boolean =>
  error instanceof SerializationError &&
  error.path!.endsWith('.list[0].callback') &&
  error.message.includes(error.path!)

const value = {
  at: new Date('2026-01-02T03:04:05.678Z'),
  sizes: new Map<unknown, unknown>([
    ['a', 1n],
    [{ deep: new Set([undefined, NaN]) }, -0],
  ]),
  big: 12_345_678_901_234_567_890n,
  bytes: new Uint8Array([0, 1, 255]),
  home: new URL('https://example.com/a?b'),
  none: undefined,
}

for (const driver of Object.values(processDrivers)) {
  test(`${driver.name}: a value with a Map, a Date and a bigint comes back equal through every face; a function is refused with its path`, async (t) => {
    const place = await driver.open()
    t.after(() => place.close())
    const storage = place.storage()
    const seen: Record<string, unknown> = {}
    const bad = { list: [{ callback: () => {} }] }
    await using queue = new Queue<unknown, unknown>({ storage, name })
    queue.execute((job) => (seen.queue = job.payload))
    await queue.start()
    seen.queueResult = await queue.enqueueAndWait('a', value)
    await assert.rejects(queue.enqueue('b', bad), refused)

    await using tasks = createTasks({ queue: new StorageMessageQueue(storage, { name }) })
    const task = tasks.defineTask(name, { schema: anything, handler: (_context, data) => void (seen.tasks = data) })
    await tasks.start()
    await tasks.enqueueTask(task, value)
    await assert.rejects(tasks.enqueueTask(task, bad), refused)

    const client = await createClient({ storage, jobTypeRegistry: types })
    await using worker = await createInProcessWorker({
      storage,
      jobTypeRegistry: types,
      jobTypeProcessors: { mail: { process: ({ job, complete }) => complete((seen.chains = job.input)) } },
    })
    await worker.start()
    const chain = await client.startJobChain({ typeName: 'mail', input: value })
    seen.chainsOutput = (await client.waitForJobChainCompletion(chain, { timeoutMs: 30_000 })).output
    await assert.rejects(client.startJobChain({ typeName: 'mail', input: bad }), refused)

    await until(() => 'tasks' in seen, 30_000)
    for (const [where, got] of Object.entries(seen)) assert.deepStrictEqual(got, value, where)
  })
}
