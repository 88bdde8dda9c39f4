// Schedules under a fake clock: to the millisecond, and the same each time.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { channel } from 'node:diagnostics_channel'
import type { QueueSchedule, Queue } from 'holdfast'

import { sized } from '../full-size.ts'
import { clockBench } from './clock-bench.ts'
import { failing } from './faulty-storage.ts'

const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000]
const start = Date.parse('2026-01-01T00:00Z')

/** Few timers besides those of the schedules: each one takes its time. */
const rare = { pollMs: hour, leaseMs: hour, timeoutMs: 2 * hour } as const

interface Run {
  readonly name: string
  readonly slot: number | undefined
  readonly at: number
  readonly payload: string
}

/** A bench whose queue notes what its schedules ran, in ms since the start; and what they skipped. */
function scheduleBench(t: Parameters<typeof clockBench>[0], seed = 1) {
  const bench = clockBench(t, seed)
  const runs: Run[] = []
  const skipped: number[] = []
  const listener = (event: unknown): void => {
    const { name, count } = event as { name: string; count: number }
    if (name === 'schedule_skipped') skipped.push(count)
  }
  channel('holdfast').subscribe(listener)
  t.after(() => channel('holdfast').unsubscribe(listener))
  return {
    ...bench,
    runs,
    skipped,
    started: async (
      schedules?: Readonly<Record<string, QueueSchedule<string>>>,
      more: { release?: number; runMs?: number; concurrency?: number } = {},
    ): Promise<Queue<string, unknown>> => {
      const { runMs = 0, ...config } = more
      const queue = bench.queue<string>({ schedules, presenceMs: false, ...rare, ...config })
      queue.execute(async ({ payload, schedule }) => {
        const slot = schedule?.slotAt === undefined ? undefined : schedule.slotAt - start
        runs.push({ name: schedule!.name, slot, at: bench.now(), payload })
        if (runMs > 0) await new Promise<void>((resolve) => void bench.clock.after(runMs, resolve))
      })
      await queue.start()
      return queue
    },
  }
}

const slotsOf = (runs: readonly Run[], name?: string): (number | undefined)[] =>
  runs.filter((run) => name === undefined || run.name === name).map(({ slot }) => slot)

describe('schedules of a Queue, under a fake clock', () => {
  const minutes = sized(1_440, 360)

  test(`[F41] [F7] the ${minutes} slots of a minutely schedule run in order, the same each time`, async (t) => {
    const days = []
    for (let round = 0; round < 2; round++) {
      const { clock, started, runs } = scheduleBench(t)
      const queue = await started({ minutely: { payload: 'x', cron: '* * * * *' } })
      await clock.advance(minutes * minute)
      await queue.stop()
      days.push(runs)
    }
    assert.deepEqual(
      slotsOf(days[0]!),
      Array.from({ length: minutes }, (_, n) => (n + 1) * minute),
    )
    assert.deepEqual(days[0], days[1])
  })

  test('[F6] everyMs counts from the epoch, not from the start of a process', async (t) => {
    const { clock, started, runs } = scheduleBench(t)
    await clock.advance(25 * second)
    await started({ a: { payload: 'x', everyMs: minute } })
    await clock.advance(2 * minute)
    assert.deepEqual(runs, [
      { name: 'a', slot: minute, at: minute, payload: 'x' },
      { name: 'a', slot: 2 * minute, at: 2 * minute, payload: 'x' },
    ])
  })

  test('[F7] the id of the job is the name and the slot; two queues fire each slot once', async (t) => {
    const { clock, started, runs, storage } = scheduleBench(t)
    const schedules = { a: { payload: 'x', cron: '* * * * *' } }
    const queue = await started(schedules)
    await started(schedules)
    await clock.advance(10 * minute)
    assert.deepEqual(
      slotsOf(runs),
      Array.from({ length: 10 }, (_, n) => (n + 1) * minute),
    )
    assert.equal((await queue.getStatus('a@2026-01-01T00:03:00.000Z'))!.state, 'completed')
    assert.equal((await storage.count({})).types.length, 1)
  })

  test('[F9] after downtime: skip runs none, latest the newest, all of them oldest first, up to the limit', async (t) => {
    const { clock, started, runs, skipped } = scheduleBench(t)
    const rule = { payload: 'x', cron: '0 * * * *' }
    const schedules = {
      skip: { ...rule, catchUp: 'skip' },
      latest: rule,
      all: { ...rule, catchUp: 'all' },
      limited: { ...rule, catchUp: 'all', catchUpLimit: 3 },
    } as const
    await (await started(schedules)).stop()
    await clock.advance(10 * hour + 5 * minute)
    await started(schedules)
    await clock.advance(0)
    assert.deepEqual(slotsOf(runs, 'skip'), [])
    assert.deepEqual(slotsOf(runs, 'latest'), [10 * hour])
    assert.deepEqual(
      slotsOf(runs, 'all'),
      Array.from({ length: 10 }, (_, n) => (n + 1) * hour),
    )
    assert.deepEqual(slotsOf(runs, 'limited'), [8 * hour, 9 * hour, 10 * hour])
    assert.deepEqual(
      skipped.toSorted((a, b) => a - b),
      [7, 9, 10],
    )
    await clock.advance(hour)
    assert.deepEqual(slotsOf(runs, 'skip'), [11 * hour])
    assert.equal(runs.length, 1 + 10 + 3 + 4)
  })

  test('[F9] a slot that is late by graceMs or less is not missed', async (t) => {
    const { clock, started, runs, skipped } = scheduleBench(t)
    const schedules = {
      late: { payload: 'x', cron: '0 * * * *', catchUp: 'skip', graceMs: 5 * minute },
      tooLate: { payload: 'x', cron: '0 * * * *', catchUp: 'skip', graceMs: 5 * minute - 1 },
    } as const
    await (await started(schedules)).stop()
    await clock.advance(hour + 5 * minute)
    await started(schedules)
    await clock.advance(0)
    assert.deepEqual(slotsOf(runs), [hour])
    assert.equal(runs[0]!.name, 'late')
    assert.deepEqual(skipped, [1])
  })

  test('[F9] a year of missed seconds costs a bounded number of calls', async (t) => {
    const { clock, started, runs, line } = scheduleBench(t)
    const schedules = { a: { payload: 'x', everyMs: second, catchUp: 'all', catchUpLimit: 150 } } as const
    await (await started(schedules)).stop()
    await clock.advance(365 * day)
    const before = line.count('add')
    const queue = await started(schedules, { concurrency: 100 })
    // No time passes: the calls of the missed slots alone.
    await clock.settle()
    await clock.advance(0)
    await queue.stop()
    // 61 slots are within the grace period.
    assert.equal(runs.length, 150 + 61)
    assert.equal(new Set(slotsOf(runs)).size, runs.length)
    assert.equal(line.count('add') - before, 3)
  })

  test('[F10] overlap: allow runs both, skip the first alone, queue one after the other', async (t) => {
    const { clock, started, runs, skipped } = scheduleBench(t)
    const rule = { payload: 'x', everyMs: minute }
    await started(
      { allow: rule, skip: { ...rule, overlap: 'skip' }, queue: { ...rule, overlap: 'queue' } },
      { runMs: 90 * second, concurrency: 10 },
    )
    await clock.advance(4 * minute + 30 * second)
    const at = (name: string) => runs.filter((run) => run.name === name).map((run) => [run.slot, run.at])
    assert.deepEqual(
      at('allow'),
      [1, 2, 3, 4].map((n) => [n * minute, n * minute]),
    )
    assert.deepEqual(
      at('skip'),
      [1, 3].map((n) => [n * minute, n * minute]),
    )
    assert.deepEqual(at('queue'), [
      [minute, minute],
      [2 * minute, minute + 90 * second],
      [3 * minute, minute + 180 * second],
    ])
    assert.deepEqual(skipped, [1, 1])
  })

  test('[F10] jitterMs shifts the jobs of a schedule by the same time, and schedules from each other', async (t) => {
    const { clock, started, runs } = scheduleBench(t)
    const names = ['a', 'b', 'c', 'd', 'e']
    await started(
      Object.fromEntries(names.map((name) => [name, { payload: 'x', everyMs: hour, jitterMs: 30 * minute }])),
    )
    await clock.advance(4 * hour)
    const shifts = names.map(
      (name) => new Set(runs.filter((run) => run.name === name).map((run) => run.at - run.slot!)),
    )
    for (const shift of shifts) assert.equal(shift.size, 1)
    const all = shifts.map((shift) => [...shift][0]!)
    assert.equal(new Set(all).size, names.length)
    assert.ok(all.every((ms) => ms >= 0 && ms < 30 * minute))
  })

  test('[F10] jitterMs with overlap skip: a job that waits for its shift is live', async (t) => {
    const { clock, started, runs } = scheduleBench(t)
    await started({ b: { payload: 'x', everyMs: minute, jitterMs: 10 * minute, overlap: 'skip' } })
    await clock.advance(30 * minute)
    assert.ok(runs.length >= 2)
    for (const [index, run] of runs.entries()) if (index > 0) assert.ok(run.slot! > runs[index - 1]!.at - minute)
  })

  test('[F10] fire adds a job now, and leaves the slots alone', async (t) => {
    const { clock, started, runs } = scheduleBench(t)
    const queue = await started({ a: { payload: 'x', everyMs: minute } })
    await clock.advance(30 * second)
    const id = await queue.schedules.fire('a')
    await clock.advance(90 * second)
    assert.deepEqual(runs, [
      { name: 'a', slot: undefined, at: 30 * second, payload: 'x' },
      { name: 'a', slot: minute, at: minute, payload: 'x' },
      { name: 'a', slot: 2 * minute, at: 2 * minute, payload: 'x' },
    ])
    assert.equal((await queue.getStatus(id))!.state, 'completed')
    await assert.rejects(queue.schedules.fire('b'), { code: 'SCHEDULE_NOT_FOUND', schedule: 'b', message: /'a'/ })
  })

  test('slots during a pause are not fired, then or later', async (t) => {
    const { clock, started, runs } = scheduleBench(t)
    const queue = await started({ a: { payload: 'x', everyMs: minute, catchUp: 'all' } })
    await clock.advance(90 * second)
    assert.equal(await queue.schedules.pause('a', { by: 'ops' }), true)
    const paused = { since: start + 90 * second, by: 'ops' }
    await clock.advance(10 * minute)
    const [info] = await queue.schedules.list()
    assert.deepEqual([info!.paused, info!.nextAt, info!.lastAt], [paused, undefined, start + minute])
    // A second pause and a restart change nothing.
    await queue.schedules.pause('a', { by: 'other' })
    assert.deepEqual((await queue.schedules.list())[0]!.paused, paused)
    await queue.stop()
    await queue.start()
    await clock.advance(10 * second)
    assert.equal(await queue.schedules.resume('a'), true)
    await clock.advance(minute)
    assert.deepEqual(slotsOf(runs), [minute, 12 * minute])
    assert.equal(await queue.schedules.pause('b'), false)
    assert.equal(await queue.schedules.resume('b'), false)
  })

  test('[F8] a changed schedule drops slots before the change; one of the same content is untouched', async (t) => {
    const { clock, started, runs, storage } = scheduleBench(t)
    const before = { payload: 'old', cron: '0 * * * *', catchUp: 'all', search: { a: 1, b: 2 } } as const
    const entries = async () => (await storage.kv.list(['holdfast', 'schedules'], { limit: 10 })).items
    const queue = await started({ changed: before, same: before })
    await queue.stop()
    const stored = await entries()
    await clock.advance(3 * hour + minute)
    const same = { search: { b: 2, a: 1 }, catchUp: 'all', cron: '0 * * * *', payload: 'old' } as const
    await started({ changed: { ...before, payload: 'new' }, same })
    await clock.advance(hour)
    assert.deepEqual(
      runs.filter(({ name }) => name === 'changed').map(({ slot, payload }) => [slot, payload]),
      [[4 * hour, 'new']],
    )
    assert.deepEqual(slotsOf(runs, 'same'), [hour, 2 * hour, 3 * hour, 4 * hour])
    const [, after] = [stored, await entries()]
    assert.deepEqual(
      after.find(({ key }) => key.at(-1) === 'same'),
      stored.find(({ key }) => key.at(-1) === 'same'),
    )
  })

  test('[F8] a rolling deploy that adds, changes and removes schedules duplicates and deletes nothing', async (t) => {
    const { clock, started, runs } = scheduleBench(t)
    const rule = { payload: 'v1', everyMs: minute }
    const v1 = { kept: rule, changed: rule, removed: rule }
    const v2 = { kept: rule, changed: { ...rule, payload: 'v2' }, added: { ...rule, payload: 'v2' } }
    const old = await Promise.all([1, 2].map(() => started(v1, { release: 1 })))
    await old[0]!.schedules.put('operator', rule)
    await clock.advance(minute)
    const names = async () => (await old[1]!.schedules.list()).map(({ name }) => name).toSorted()
    assert.deepEqual(await names(), ['changed', 'kept', 'operator', 'removed'])
    await started(v2, { release: 2 })
    await clock.advance(30 * second)
    assert.deepEqual(await names(), ['added', 'changed', 'kept', 'operator'])
    // A process of the old release restarts in the middle: it changes nothing.
    await old[0]!.stop()
    await old[0]!.start()
    await started(v2, { release: 2 })
    await clock.advance(2 * minute)
    assert.deepEqual(await names(), ['added', 'changed', 'kept', 'operator'])
    const of = (name: string) =>
      runs.filter((run) => run.name === name).map(({ slot, payload }) => `${slot! / minute} ${payload}`)
    assert.deepEqual(of('kept'), ['1 v1', '2 v1', '3 v1'])
    assert.deepEqual(of('changed'), ['1 v1', '2 v2', '3 v2'])
    assert.deepEqual(of('added'), ['2 v2', '3 v2'])
    assert.deepEqual(of('removed'), ['1 v1'])
    assert.deepEqual(of('operator'), ['1 v1', '2 v1', '3 v1'])
  })

  test('[F8] an old release that stores after a new one began takes its own back', async (t) => {
    const { clock, started, line } = scheduleBench(t)
    const rule = { payload: 'x', everyMs: minute }
    const [arrived, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    // The second: the first raises the release.
    let held = 0
    line.on('kv.cas', async (apply) => {
      if (++held === 2) {
        arrived.resolve()
        await released.promise
      }
      return apply()
    })
    const old = started({ gone: rule }, { release: 1 })
    await arrived.promise
    const queue = await started({ here: rule }, { release: 2 })
    released.resolve()
    await old
    await clock.settle()
    assert.deepEqual(
      (await queue.schedules.list()).map(({ name }) => name),
      ['here'],
    )
  })

  test('a schedule that another process puts is fired, also if the hint is lost', async (t) => {
    for (const isLost of [false, true]) {
      const { clock, started, runs, line, queue: newQueue } = scheduleBench(t)
      await started()
      if (isLost) line.lose(({ type }) => type.startsWith('schedules.'))
      const operator = newQueue<string>()
      await operator.schedules.put('a', { payload: 'x', everyMs: minute })
      await clock.advance(2 * minute + 10 * second)
      assert.deepEqual(slotsOf(runs), [minute, 2 * minute])
      await operator.schedules.remove('a')
      await clock.advance(3 * minute)
      assert.equal(runs.length, 2)
    }
  })

  test('without schedules, an idle queue makes no call for them in 30 s, and one a minute', async (t) => {
    const { clock, line, started } = scheduleBench(t)
    await started()
    const before = line.calls.length
    await clock.advance(30 * second)
    assert.deepEqual(
      line.calls.slice(before).map(({ verb }) => verb),
      [],
    )
    await clock.advance(10 * minute)
    // The worker sweeps.
    const calls = line.calls.slice(before).filter(({ verb }) => verb !== 'sweep')
    assert.deepEqual(
      calls.map(({ verb }) => verb),
      Array(10).fill('kv.list'),
    )
  })

  test('a queue that is given its handler after start() fires the schedules of its name', async (t) => {
    const { clock, queue: newQueue } = scheduleBench(t)
    const queue = newQueue<string>({ presenceMs: false })
    await queue.start()
    await queue.schedules.put('a', { payload: 'x', everyMs: minute })
    await clock.advance(minute)
    const slots: number[] = []
    queue.execute(({ schedule }) => void slots.push(schedule!.slotAt! - start))
    await clock.advance(minute)
    assert.deepEqual(slots, [minute, 2 * minute])
    await queue.stop()
    await clock.advance(5 * minute)
    assert.equal(slots.length, 2)
  })

  test('[F7] a failing storage is asked again, and fires each slot once', async (t) => {
    const { clock, started, runs, line } = scheduleBench(t)
    const queue = await started({ a: { payload: 'x', everyMs: minute } })
    const errors: Error[] = []
    queue.on('error', (error) => errors.push(error))
    line.on('add', failing(1))
    await clock.advance(minute + 10 * second)
    assert.deepEqual(slotsOf(runs), [minute])
    line.on('kv.cas', failing(line.count('kv.cas') + 1))
    line.on('kv.get', failing(line.count('kv.get') + 1))
    await clock.advance(5 * minute)
    assert.deepEqual(
      slotsOf(runs),
      [1, 2, 3, 4, 5, 6].map((n) => n * minute),
    )
    assert.ok(errors.length > 0)
  })

  test('stop during a fire waits for it; a start after it fires the slots that follow', async (t) => {
    const { clock, started, runs, line } = scheduleBench(t)
    const queue = await started({ a: { payload: 'x', everyMs: minute } })
    const held = Promise.withResolvers<void>()
    line.on('add', async (apply) => {
      const answer = await apply()
      await held.promise
      return answer
    })
    await clock.advance(minute)
    const stopped = queue.stop()
    await clock.settle()
    held.resolve()
    await stopped
    const calls = line.calls.length
    await clock.advance(2 * minute)
    assert.equal(line.calls.length, calls)
    line.on('add', undefined)
    await queue.start()
    await clock.advance(minute)
    assert.deepEqual(
      slotsOf(runs).toSorted((a, b) => a! - b!),
      [1, 2, 3, 4].map((n) => n * minute),
    )
  })

  test('[F6] preview shows the next instants in the time zone of the schedule', async (t) => {
    const { started } = scheduleBench(t)
    const queue = await started({ a: { payload: 'x', cron: '30 2 29,30 3 *', timeZone: 'Europe/Berlin' } })
    assert.deepEqual(await queue.schedules.preview('a', 2), [
      { at: Date.parse('2026-03-29T01:00Z'), local: '2026-03-29 03:00:00 GMT+2' },
      { at: Date.parse('2026-03-30T00:30Z'), local: '2026-03-30 02:30:00 GMT+2' },
    ])
    assert.equal((await queue.schedules.preview('a')).length, 5)
    await assert.rejects(queue.schedules.preview('b'), { code: 'SCHEDULE_NOT_FOUND' })
    await assert.rejects(queue.schedules.preview('a', 0), { code: 'INVALID_ARGUMENT' })
  })

  test('[F6] a wrong schedule is refused before anything is stored', async (t) => {
    const { queue: newQueue, storage } = scheduleBench(t)
    const queue = newQueue<string>()
    const refused: [rule: object, message: RegExp][] = [
      [{}, /either cron or everyMs/],
      [{ cron: '* * * * *', everyMs: minute }, /either cron or everyMs/],
      [{ everyMs: 999 }, /everyMs/],
      [{ cron: '0 0 31 2 *' }, /matches some day/],
      [{ cron: 'every day' }, /cron/],
      [{ cron: '* * * * *', timeZone: 'Europe/Atlantis' }, /timeZone: expected the IANA name/],
      [{ everyMs: minute, timeZone: 'UTC' }, /no time zone with everyMs/],
      [{ everyMs: minute, catchup: 'all' }, /'?catchUp'?/],
      [{ everyMs: minute, delayMs: 5 }, /delayMs/],
    ]
    for (const [rule, message] of refused) {
      await assert.rejects(
        queue.schedules.put('a', { payload: 'x', ...rule } as never),
        (error: Error & { code: string }) => {
          assert.equal(error.code, 'INVALID_ARGUMENT', error.message)
          assert.match(error.message, message)
          return true
        },
      )
    }
    await assert.rejects(queue.schedules.put('', { payload: 'x', everyMs: minute }), { code: 'INVALID_ARGUMENT' })
    assert.deepEqual((await storage.kv.list(['holdfast'], { limit: 10 })).items, [])
  })
})
