// An option inside another one is refused with its whole path: `limit` alone could be that of a rate, a group or a list.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryStorage, Queue } from 'holdfast'
import { createTasks } from 'holdfast/tasks'

const asNumber = (text: unknown): number => text as number
const make = (options: object) => () => new Queue<string>({ storage: new MemoryStorage(), ...options })

test('a wrong value inside an option is refused with its whole path', () => {
  const cases: [options: object, start: string][] = [
    [{ retention: { completed: 5 } }, 'retention.completed: expected an object'],
    [{ retention: { failed: { ageMs: 'x' } } }, 'retention.failed.ageMs: expected an integer'],
    [{ backoff: { type: 'fixed', delayMs: '1' } }, 'backoff.delayMs: expected a number'],
    [{ backoff: { type: 'exponential', factor: '2' } }, 'backoff.factor: expected'],
    [{ limits: { concurrency: '1' } }, 'limits.concurrency: expected an integer'],
    [{ limits: { rate: 5 } }, 'limits.rate options: expected an object'],
    [{ limits: { rate: { limit: 5 } } }, 'limits.rate.perMs: expected a number of ms'],
    [{ limits: { rate: { limit: '5', perMs: 1_000 } } }, 'limits.rate.limit: expected an integer'],
    [{ limits: { group: { limit: '1' } } }, 'limits.group.limit: expected an integer'],
    [{ limits: { group: { rate: { limit: 1, perMs: '1s' } } } }, 'limits.group.rate.perMs: expected'],
    [{ schedules: { nightly: { payload: 'x', everyMs: '5s' } } }, "schedule 'nightly': everyMs: expected an integer"],
    [
      { schedules: { nightly: { payload: 'x', everyMs: 5_000, retention: { failed: { ageMs: 'x' } } } } },
      "schedule 'nightly': retention.failed.ageMs: expected",
    ],
  ]
  for (const [options, start] of cases) assert.throws(make(options), beginsWith(start), start)
})

test('so is one in the options of a job, of an item and of a task', async () => {
  const queue = new Queue<string>({ storage: new MemoryStorage() })
  const wrong = { key: 'k', mode: 'throttle', windowMs: asNumber('1s') } as const
  await assert.rejects(
    queue.enqueue('a', 'x', { deduplication: wrong }),
    beginsWith('deduplication.windowMs: expected'),
  )
  const group = { key: 'k', ordered: 'yes' as unknown as boolean }
  await assert.rejects(queue.enqueue('a', 'x', { group }), beginsWith('group.ordered: expected'))
  await assert.rejects(
    queue.enqueue('a', 'x', { group: asNumber(5) as unknown as string }),
    beginsWith("group: expected a key, or an object such as { key: 'c-42', ordered: true }, got 5"),
  )
  const items = [{ id: 'a', payload: 'x', retention: { failed: { ageMs: asNumber('x') } } }]
  await assert.rejects(queue.enqueueMany(items), beginsWith('items[0].retention.failed.ageMs: expected'))
  await assert.rejects(queue.setLimits({ group: { limit: asNumber('x') } }), beginsWith('group.limit: expected'))
  await queue.stop()

  const tasks = createTasks({ storage: new MemoryStorage() })
  const schema = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } } as const
  const task = tasks.defineTask('mail', { schema, handler: () => {} })
  const job = { priority: asNumber('high') }
  await assert.rejects(tasks.enqueueTask(task, 'x', { job }), beginsWith('job.priority: expected an integer'))
  await tasks.close()
})

function beginsWith(start: string): (error: Error) => boolean {
  return (error) => {
    assert.equal(error.message.slice(0, start.length), start)
    return true
  }
}
