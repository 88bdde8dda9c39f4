// A Queue, tasks and a Fedify queue of one name on one storage: no face sees the jobs, keys or entries of another.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { HoldfastKvStore, HoldfastMessageQueue } from '@holdfast/fedify'
import { Queue } from 'holdfast'
import { createTasks, StorageKvStore, StorageMessageQueue } from 'holdfast/tasks'
import { anything } from '../../holdfast/test/tasks/fakes.ts'
import { until } from '../../holdfast/test/queue/driver.ts'
import { processDrivers, stopServers } from '../../holdfast/test/processes/drivers.ts'

after(stopServers)

const count = 50
const numbers = Array.from({ length: count }, (_, number) => number)
const sorted = (values: readonly number[]): number[] => values.toSorted((a, b) => a - b)

for (const driver of Object.values(processDrivers)) {
  test(`on ${driver.name}, faces of one name are isolated: jobs, deduplication keys, cancels and entries`, async (t) => {
    const place = await driver.open()
    const storage = place.storage()
    const seen: Record<'queue' | 'task' | 'fedify', number[]> = { queue: [], task: [], fedify: [] }
    const queues = [0, 1].map(() => new Queue<number>({ storage, concurrency: 5 }))
    for (const queue of queues) queue.execute(({ payload }) => void seen.queue.push(payload))
    const messages = new StorageMessageQueue(storage)
    const tasks = createTasks({ queue: messages })
    const task = tasks.defineTask('default', {
      schema: anything<number>(),
      handler: (_context, number) => void seen.task.push(number),
    })
    const fedify = new HoldfastMessageQueue(storage)
    const stop = new AbortController()
    const [kv, fedifyKv] = [new StorageKvStore(storage), new HoldfastKvStore(storage)]
    t.after(async () => {
      await Promise.all([...queues.map((queue) => queue.stop()), tasks.stop()])
      await Promise.all([messages.close(), fedify.close(), kv.close(), fedifyKv.close()])
      await place.close()
    })

    // One deduplication key and one id, in every face.
    const key = { deduplicationKey: 'k' }
    const { id } = await tasks.enqueueTask(task, 0, key)
    await fedify.enqueue(0, key)
    assert.deepEqual(await queues[0]!.cancel(id!), { status: 'not_found' })
    assert.equal((await queues[0]!.enqueue(id!, 0)).status, 'queued')
    assert.deepEqual([(await messages.getDepth()).queued, (await fedify.getDepth()).queued], [1, 1])

    await Promise.all(
      numbers
        .slice(1)
        .flatMap((number): Promise<unknown>[] => [
          queues[0]!.enqueue(String(number), number),
          tasks.enqueueTask(task, number),
          fedify.enqueue(number),
        ]),
    )
    const listening = fedify.listen((number: number) => void seen.fedify.push(number), { signal: stop.signal })
    await Promise.all([...queues.map((queue) => queue.start()), tasks.start()])
    await until(() => Object.values(seen).every((values) => values.length >= count), 'every job runs')
    stop.abort()
    await listening
    for (const [face, values] of Object.entries(seen)) assert.deepEqual(sorted(values), numbers, face)

    await kv.set(['entry'], 'tasks')
    assert.equal(await fedifyKv.get(['entry']), undefined)
    assert.equal(await fedifyKv.setIfAbsent(['entry'], 'fedify'), true)
    assert.deepEqual([await kv.get(['entry']), await fedifyKv.get(['entry'])], ['tasks', 'fedify'])
  })
}
