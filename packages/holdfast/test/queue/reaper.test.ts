import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { MemoryStorage, Queue, Reaper, type ReaperConfig } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { failing, faulty } from './faulty-storage.ts'
import { defaultType, storedType } from 'holdfast/storage'

function reaping(t: TestContext) {
  const clock = fakeClock()
  const memory = new MemoryStorage({ clock })
  const line = faulty(memory)
  const log: string[] = []
  const reapers: Reaper[] = []
  let claims = 0
  t.after(async () => {
    line.mend()
    await Promise.all(reapers.map((reaper) => reaper.stop()))
  })
  return {
    clock,
    memory,
    line,
    log,
    reaper(config: Partial<ReaperConfig> = {}, name = 'r'): Reaper {
      const reaper = new Reaper({ storage: line.storage, clock, visibilityTimeout: 4_000, ...config })
      for (const event of ['stalled', 'leadershipAcquired', 'leadershipLost', 'error'] as const) {
        reaper.on(event, (about?: unknown) =>
          log.push(`${name} ${event}${typeof about === 'string' ? ` ${about}` : ''}`),
        )
      }
      reapers.push(reaper)
      return reaper
    },
    /** Jobs that a worker runs and never ends. */
    async running(ids: readonly string[], type: string = defaultType): Promise<void> {
      const retention = { completedMs: 1_000, failedMs: 1_000, cancelledMs: 1_000 }
      await memory.add(ids.map((id) => ({ type, id, token: id, retention })))
      const worker = `w${++claims}`
      await memory.claim({ worker, slots: ids.length, types: [{ type, leaseMs: 3_600_000 }] })
    },
  }
}

test('it takes back what is older than its own limit, whatever the lease says', async (t) => {
  const { clock, running, reaper, log, memory } = reaping(t)
  await running(['a'])
  await reaper().start()
  await clock.advance(4_000)
  assert.deepEqual(log, [])
  await clock.advance(1_000)
  assert.deepEqual(log, ['r stalled a'])
  assert.equal((await memory.get([{ type: defaultType, id: 'a' }]))[0]!.state, 'queued')
})

test('a first start that fails takes nothing from the one after the stop', async (t) => {
  const { clock, running, reaper, log, line } = reaping(t)
  await running(['a'])
  line.on('connect', failing(1))
  const one = reaper()
  const ends = await Promise.allSettled([one.start(), one.stop(), one.start()])
  assert.deepEqual(
    ends.map(({ status }) => status),
    ['rejected', 'fulfilled', 'fulfilled'],
  )
  await clock.advance(5_000)
  assert.deepEqual(log, ['r stalled a'])
})

test('it looks each quarter of its limit, within 25 ms and 1 s, or as told', async (t) => {
  for (const [config, looks] of [
    [{ visibilityTimeout: 1_000 }, 40],
    [{ visibilityTimeout: 20 }, 400],
    [{ visibilityTimeout: 3_600_000 }, 10],
    [{ visibilityTimeout: 3_600_000, checkInterval: 100 }, 100],
  ] as const) {
    const { clock, reaper, line } = reaping(t)
    await reaper(config).start()
    await clock.advance(10_000)
    assert.equal(line.count('recover'), looks, JSON.stringify(config))
  }
})

test('it watches its names, and no other', async (t) => {
  const { clock, running, reaper, log } = reaping(t)
  await running(['a'], storedType('queue', 'one'))
  await running(['b'], storedType('queue', 'two'))
  await running(['c'], storedType('queue', 'three'))
  await reaper({ name: ['one', 'three'] }).start()
  await clock.advance(10_000)
  assert.deepEqual(log.toSorted(), ['r stalled a', 'r stalled c'])
})

test('more than fit into one call are taken back in one look', async (t) => {
  const { clock, running, reaper, log } = reaping(t)
  await running(Array.from({ length: 2_500 }, (_, n) => `j${n}`))
  await reaper().start()
  await clock.advance(5_000)
  assert.equal(log.length, 2_500)
})

test('each stall is taken back once, though several watch', async (t) => {
  const { clock, running, reaper, log } = reaping(t)
  await running(['a', 'b', 'c'])
  for (const name of ['r1', 'r2', 'r3']) await reaper({}, name).start()
  await clock.advance(20_000)
  assert.deepEqual(log.map((entry) => entry.split(' ')[2]).toSorted(), ['a', 'b', 'c'])
})

test('a look that fails is an error, and the next one comes', async (t) => {
  const { clock, running, reaper, log, line } = reaping(t)
  await running(['a'])
  line.on('recover', failing(1, 2))
  await reaper().start()
  await clock.advance(5_000)
  assert.deepEqual(log, ['r error', 'r error', 'r stalled a'])
})

test('with election only the leader asks the storage', async (t) => {
  const { clock, memory, reaper, log } = reaping(t)
  const lines = [faulty(memory), faulty(memory)]
  const [first, second] = lines.map(({ storage }, index) =>
    reaper({ storage, leaderElection: { enabled: true } }, `r${index + 1}`),
  )
  await first!.start()
  await second!.start()
  await clock.advance(10_000)
  assert.deepEqual([first!.isLeader, second!.isLeader], [true, false])
  assert.deepEqual(
    lines.map(({ count }) => count('recover')),
    [10, 0],
  )
  await first!.stop()
  await clock.advance(5_000)
  assert.deepEqual(log, ['r1 leadershipAcquired', 'r1 leadershipLost', 'r2 leadershipAcquired'])
  assert.equal(first!.isLeader, false)
})

test('without election no Reaper is the leader', async (t) => {
  const { clock, reaper } = reaping(t)
  const off = reaper({ leaderElection: { enabled: false } })
  await off.start()
  await clock.advance(5_000)
  assert.equal(off.isLeader, false)
})

test('reapers of other names have an election of their own', async (t) => {
  const { reaper } = reaping(t)
  const leaderElection = { enabled: true }
  const [a, b, ab, ba] = [['a'], ['b'], ['a', 'b'], ['b', 'a']].map((name) => reaper({ name, leaderElection }))
  for (const each of [a, b, ab, ba]) await each!.start()
  assert.deepEqual(
    [a, b, ab, ba].map((each) => each!.isLeader),
    [true, true, true, false],
  )
})

test('start and stop are idempotent, count one connection, and leave no timer', async (t) => {
  const { clock, reaper, line } = reaping(t)
  const one = reaper({ leaderElection: { enabled: true } })
  await Promise.all([one.start(), one.start(), one.start()])
  assert.equal(line.count('connect'), 1)
  await Promise.all([one.stop(), one.stop()])
  await one.stop()
  assert.equal(line.connections, 0)
  assert.equal(line.count('disconnect'), 1)
  assert.equal(clock.pending, 0)
})

test('started again, also while it stops, it works again', async (t) => {
  const { clock, running, reaper, log, line } = reaping(t)
  await running(['a'])
  const one = reaper()
  await one.start()
  const stopped = one.stop()
  await one.start()
  await stopped
  await clock.advance(5_000)
  assert.deepEqual(log, ['r stalled a'])
  assert.equal(line.connections, 1)
})

test('a start that fails leaves nothing behind; the next one tries afresh', async (t) => {
  const { clock, reaper, line } = reaping(t)
  line.on('connect', failing(1))
  const one = reaper()
  await assert.rejects(one.start(), { code: 'STORAGE_ERROR' })
  assert.equal(clock.pending, 0)
  await one.start()
  assert.equal(line.connections, 1)
})

test('a stop during a look waits for it', async (t) => {
  const { clock, running, reaper, log, line } = reaping(t)
  await running(['a'])
  line.on('recover', async (apply) => {
    const answer = await apply()
    await new Promise<void>((resolve) => void clock.after(500, resolve))
    return answer
  })
  const one = reaper()
  await one.start()
  // Looks begin at 1, 2.5, 4 and 5.5 s.
  await clock.advance(5_600)
  const stopped = one.stop()
  await clock.advance(1_000)
  await stopped
  assert.deepEqual(log, ['r stalled a'])
  assert.equal(clock.pending, 0)
})

test('the handler of an attempt that was taken back is told', async (t) => {
  const { clock, reaper, line } = reaping(t)
  const queue = new Queue<string, string>({
    storage: line.storage,
    clock,
    visibilityTimeout: 3_600_000,
    maxRetries: 1,
    backoff: 'none',
  })
  t.after(() => queue.stop({ timeout: 0 }))
  const reasons: unknown[] = []
  queue.execute(
    ({ signal }) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          reasons.push((signal.reason as { code: string }).code)
          resolve('late')
        })
      }),
  )
  await queue.start()
  await reaper().start()
  await queue.enqueue('a', '')
  await clock.advance(6_000)
  assert.deepEqual(reasons, ['LEASE_LOST'])
  const status = await queue.getStatus('a')
  assert.deepEqual([status!.state, status!.error!.code], ['failed', 'STALLED'])
})
