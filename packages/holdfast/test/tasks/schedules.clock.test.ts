// Schedules of tasks, under a fake clock. What every face shares is in test/queue/schedules.clock.test.ts.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createAdmin } from 'holdfast'
import { createTasks, type JobSchedule, StorageMessageQueue } from 'holdfast/tasks'
import { z } from 'zod'
import { tasksBench } from './clock-bench.ts'
import { recordingQueue } from './fakes.ts'

const [minute, hour] = [60_000, 3_600_000]
const start = Date.parse('2026-01-01T00:00Z')
const schema = z.object({ day: z.string() })
const handler = (): void => {}

interface Run {
  readonly id: string
  readonly schedule: JobSchedule | undefined
  readonly data: { readonly day: string }
  readonly enqueuedAt: number
}

describe('schedules of tasks, under a fake clock', () => {
  test('[F7] [F8] a declared schedule adds a message per slot, with the id of the slot', async (t) => {
    const { clock, tasks, events } = tasksBench(t, { presenceMs: false })
    const runs: Run[] = []
    tasks.defineTask('report', {
      schema,
      handler: ({ id, schedule, enqueuedAt }, data) => void runs.push({ id, schedule, data, enqueuedAt }),
      schedules: { nightly: { cron: '20 0 * * *', data: { day: 'last' } } },
    })
    await tasks.start()
    await clock.advance(30 * minute)
    const slotAt = start + 20 * minute
    const id = 'nightly@2026-01-01T00:20:00.000Z'
    assert.deepEqual(runs, [{ id, schedule: { name: 'nightly', slotAt }, data: { day: 'last' }, enqueuedAt: slotAt }])
    assert.ok(events.some((event) => event.name === 'completed' && event.id === id))
    const [info] = await tasks.schedules.list()
    assert.deepEqual([info!.name, info!.task, info!.data, info!.lastAt], ['nightly', 'report', { day: 'last' }, slotAt])
  })

  test('put, pause, fire and remove at run time; the admin handle sees them', async (t) => {
    const { clock, tasks, storage } = tasksBench(t, { presenceMs: false })
    const runs: (JobSchedule | undefined)[] = []
    const report = tasks.defineTask('report', { schema, handler: ({ schedule }) => void runs.push(schedule) })
    await tasks.start()
    await tasks.schedules.put('hourly', { task: report, data: { day: 'x' }, everyMs: hour, priority: 5 })
    // @ts-expect-error the data has a day
    await assert.rejects(tasks.schedules.put('a', { task: report, data: {}, everyMs: hour }), {
      code: 'SCHEMA_REJECTED',
    })
    await tasks.enqueueTask(report, { day: 'y' })
    await clock.advance(hour)
    assert.deepEqual(runs, [undefined, { name: 'hourly', slotAt: start + hour }])
    await using admin = createAdmin({ storage, clock })
    const [shown] = await admin.schedules.list()
    assert.deepEqual([shown!.face, shown!.owner, shown!.name], ['task', 'default', 'hourly'])
    assert.equal(await tasks.schedules.pause('hourly'), true)
    await clock.advance(hour)
    const id = await tasks.schedules.fire('hourly')
    await clock.advance(0)
    assert.deepEqual(runs.slice(2), [{ name: 'hourly' }])
    assert.ok(id.startsWith('hourly@'))
    assert.equal(await tasks.schedules.remove('hourly'), true)
    assert.deepEqual(await tasks.schedules.list(), [])
  })

  test('[F8] a greater release removes what no task declares; a stopped face fires nothing', async (t) => {
    const { clock, storage } = tasksBench(t)
    const runs: string[] = []
    const started = async (release: number, names: readonly string[]) => {
      const tasks = createTasks({ storage, clock, release, presenceMs: false })
      t.after(() => tasks[Symbol.asyncDispose]())
      tasks.defineTask('report', {
        schema,
        handler: ({ schedule }) => void runs.push(schedule!.name),
        schedules: Object.fromEntries(names.map((name) => [name, { everyMs: minute, data: { day: '' } }])),
      })
      await tasks.start()
      return tasks
    }
    const old = await started(1, ['a', 'b'])
    await clock.advance(minute)
    const tasks = await started(2, ['b', 'c'])
    await clock.advance(minute)
    assert.deepEqual(runs.toSorted(), ['a', 'b', 'b', 'c'])
    await Promise.all([old.stop(), tasks.stop()])
    await clock.advance(10 * minute)
    assert.equal(runs.length, 4)
    await tasks.start()
    await clock.advance(0)
    // The newest of the missed slots, and the two that are late by a minute or less.
    assert.equal(runs.filter((name) => name === 'c').length, 1 + 3)
  })

  test('a queue of another library, a task with its own queue and a name that is taken are refused', async (t) => {
    const { storage, clock, tasks } = tasksBench(t)
    const schedules = { a: { everyMs: hour, data: { day: '' } } }
    const foreign = createTasks({ queue: recordingQueue() })
    foreign.defineTask('report', { schema, handler, schedules })
    await assert.rejects(foreign.start(), { code: 'FEATURE_UNSUPPORTED' })
    await assert.rejects(foreign.schedules.list(), { code: 'FEATURE_UNSUPPORTED' })
    tasks.defineTask('report', { schema, handler, schedules })
    assert.throws(() => tasks.defineTask('other', { schema, handler, schedules }), { code: 'INVALID_ARGUMENT' })
    const own = new StorageMessageQueue(storage, { name: 'own', clock })
    t.after(() => own.close())
    const third = tasks.defineTask('third', { schema, handler, queue: own })
    await assert.rejects(tasks.schedules.put('b', { task: third, data: { day: '' }, everyMs: hour }), {
      code: 'INVALID_ARGUMENT',
    })
  })
})
