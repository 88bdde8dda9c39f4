// When the Reaper acts, and who leads.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Clock, Queue, Reaper, Storage } from 'holdfast'
import { type ClockBench, clockBench } from './clock-bench.ts'
import { failing } from './faulty-storage.ts'
import { defaultType } from 'holdfast/storage'

/** A job that a worker took, who never ends it and holds it for long. */
async function takeAndHold(queue: Queue<unknown, unknown>, storage: Storage, id: string): Promise<void> {
  await queue.enqueue(id, 1, { maxAttempts: 9 })
  const request = { worker: `held/${id}`, slots: 1, types: [{ type: defaultType, leaseMs: 86_400_000 }] }
  assert.equal((await storage.claim(request)).jobs.length, 1)
}

/** What the reapers say, with the time. */
function watch({ now }: ClockBench, reapers: Record<string, Reaper>): string[] {
  const said: string[] = []
  for (const [name, reaper] of Object.entries(reapers)) {
    for (const event of ['leadershipAcquired', 'leadershipLost', 'stalled', 'error'] as const) {
      reaper.on(event, () => void said.push(`${now()} ${name} ${event}`))
    }
  }
  return said
}

/** The clock of a process that can be stopped, as by SIGSTOP: time goes on, its timers do not fire until it goes on too. */
function pausable(clock: Clock): { clock: Clock; pause(): void; resume(): void } {
  let held: (() => void)[] | undefined
  return {
    clock: {
      ...clock,
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      after: (ms, callback) => {
        let isCancelled = false
        const run = (): void => {
          if (!isCancelled) callback()
        }
        const timer = clock.after(ms, () => {
          if (held) held.push(run)
          else run()
        })
        return {
          cancel: () => {
            isCancelled = true
            timer.cancel()
          },
        }
      },
    },
    pause: () => (held = []),
    resume: () => {
      const due = held ?? []
      held = undefined
      for (const run of due) run()
    },
  }
}

describe('Reaper, to the millisecond', () => {
  for (const [visibilityTimeout, checkInterval, expected] of [
    [30_000, undefined, 1_000],
    [2_000, undefined, 500],
    [60, undefined, 25],
    [1_000, 40, 40],
  ] as const) {
    test(`[Q4.42] a limit of ${visibilityTimeout} ms is looked at every ${expected} ms, and is over when it is over`, async (t) => {
      const bench = clockBench(t)
      const { queue: newQueue, reaper: newReaper, storage, line, to } = bench
      const queue = newQueue()
      await to(expected)
      await takeAndHold(queue, storage, 'a')
      const reaper = newReaper({ visibilityTimeout, checkInterval })
      const said = watch(bench, { reaper })
      await reaper.start()
      const start = expected
      await to(start + visibilityTimeout)
      assert.deepEqual(said, [])
      assert.equal(line.count('recover'), Math.floor(visibilityTimeout / expected))
      const next = start + (Math.floor(visibilityTimeout / expected) + 1) * expected
      await to(next)
      assert.deepEqual(said, [`${next} reaper stalled`])
      assert.equal((await queue.getStatus('a'))?.attempts, 1)
    })
  }

  test('[Q4.42] counted from the start of the attempt, not of the job', async (t) => {
    const bench = clockBench(t)
    const { queue: newQueue, reaper: newReaper, storage, to } = bench
    const [queue, reaper] = [newQueue(), newReaper({ visibilityTimeout: 10_000 })]
    const said = watch(bench, { reaper })
    await reaper.start()
    await queue.enqueue('a', 1)
    await to(60_000)
    await storage.claim({ worker: 'w/1', slots: 1, types: [{ type: defaultType, leaseMs: 86_400_000 }] })
    await to(70_000)
    assert.deepEqual(said, [])
    await to(71_000)
    assert.deepEqual(said, ['71000 reaper stalled'])
  })

  test('[Q4.42] more than one batch of them in one look', async (t) => {
    const bench = clockBench(t)
    const { queue: newQueue, reaper: newReaper, storage, to } = bench
    const [queue, reaper] = [newQueue(), newReaper({ visibilityTimeout: 5_000 })]
    await Promise.all(Array.from({ length: 2_300 }, (_, index) => queue.enqueue(`job ${index}`, 1)))
    await storage.claim({ worker: 'w/1', slots: 2_300, types: [{ type: defaultType, leaseMs: 86_400_000 }] })
    const said = watch(bench, { reaper })
    await reaper.start()
    await to(6_000)
    assert.equal(said.length, 2_300)
  })

  test('[Q4.42] a look that fails is an error event; the next one goes on', async (t) => {
    const bench = clockBench(t)
    const { queue: newQueue, reaper: newReaper, storage, line, to } = bench
    const [queue, reaper] = [newQueue(), newReaper({ visibilityTimeout: 2_000 })]
    await takeAndHold(queue, storage, 'a')
    line.on('recover', failing(1, 2, 5))
    const said = watch(bench, { reaper })
    await reaper.start()
    await to(3_200)
    assert.deepEqual(said, ['500 reaper error', '1000 reaper error', '2500 reaper error', '3000 reaper stalled'])
  })

  test('[Q4.44] a leader keeps leading while it lives', async (t) => {
    const bench = clockBench(t)
    const { reaper: newReaper, to } = bench
    const leaderElection = { enabled: true, lockTTL: 3_000, acquireRetryInterval: 500 }
    const [one, two] = [newReaper({ leaderElection }), newReaper({ leaderElection })]
    const said = watch(bench, { one, two })
    await one.start()
    await two.start()
    await to(600_000)
    assert.deepEqual(said, ['0 one leadershipAcquired'])
    assert.deepEqual([one.isLeader, two.isLeader], [true, false])
  })

  test('[Q4.44] a leader dies: another leads after lockTTL, at most acquireRetryInterval later', async (t) => {
    const bench = clockBench(t)
    const { reaper: newReaper, clock, storage, queue: newQueue, to } = bench
    const leaderElection = { enabled: true, lockTTL: 10_000, renewalInterval: 2_000, acquireRetryInterval: 700 }
    const dying = pausable(clock)
    const one = newReaper({ clock: dying.clock, leaderElection, visibilityTimeout: 1_000 })
    const two = newReaper({ leaderElection, visibilityTimeout: 1_000 })
    const said = watch(bench, { one, two })
    await one.start()
    await two.start()
    await to(5_000)
    // Its last renewal was at 4 s.
    dying.pause()
    await takeAndHold(newQueue(), storage, 'a')
    await to(13_999)
    assert.equal(two.isLeader, false)
    await to(14_700)
    assert.equal(two.isLeader, true)
    await to(16_000)
    assert.deepEqual([said.length, said[0]], [3, '0 one leadershipAcquired'])
    assert.match(said[1]!, /^14[0-6]\d\d two leadershipAcquired$/)
    assert.match(said[2]!, /^1[45]\d\d\d two stalled$/)
    dying.resume()
  })

  test('[Q4.44] [trap 45] a paused leader that wakes up says leadershipLost before it acts, and does not act', async (t) => {
    const bench = clockBench(t)
    const { reaper: newReaper, clock, storage, queue: newQueue, line, to } = bench
    const leaderElection = { enabled: true, lockTTL: 10_000, acquireRetryInterval: 500 }
    const paused = pausable(clock)
    const one = newReaper({ clock: paused.clock, leaderElection, visibilityTimeout: 1_000, storage })
    const two = newReaper({ leaderElection, visibilityTimeout: 60_000 })
    const said = watch(bench, { one, two })
    await one.start()
    await two.start()
    await to(5_000)
    paused.pause()
    await to(30_000)
    assert.equal(two.isLeader, true)
    // The old leader would take it; the new one has a longer limit.
    await takeAndHold(newQueue(), storage, 'a')
    await to(35_000)
    paused.resume()
    await to(45_000)
    assert.deepEqual(
      said.map((entry) => entry.slice(entry.indexOf(' ') + 1)),
      ['one leadershipAcquired', 'two leadershipAcquired', 'one leadershipLost'],
    )
    assert.deepEqual([one.isLeader, two.isLeader], [false, true])
    assert.ok(line.count('recover') > 0)
  })

  test('[Q4.44] a leader that cannot renew stops leading when its lock is over, and does not act meanwhile', async (t) => {
    const bench = clockBench(t)
    const { reaper: newReaper, line, to } = bench
    const leaderElection = { enabled: true, lockTTL: 9_000, acquireRetryInterval: 500 }
    const one = newReaper({ leaderElection, visibilityTimeout: 1_000 })
    const said = watch(bench, { one })
    await one.start()
    await to(3_500)
    line.on('kv.cas', failing())
    // For half of the lock's time it need not ask. From then on it must, and the storage does not answer.
    await to(7_600)
    const acts = line.count('recover')
    await to(11_999)
    assert.equal(one.isLeader, true)
    await to(12_400)
    assert.equal(one.isLeader, false)
    assert.deepEqual(
      said.filter((entry) => !entry.endsWith('error')),
      ['0 one leadershipAcquired', '12000 one leadershipLost'],
    )
    assert.equal(line.count('recover'), acts)
    // The lock is over, so it may win it again.
    line.on('kv.cas', undefined)
    await to(14_000)
    assert.equal(one.isLeader, true)
  })

  test('[Q4.43] with election only one of them asks the storage', async (t) => {
    const { reaper: newReaper, line, to } = clockBench(t)
    const leaderElection = { enabled: true }
    const reapers = Array.from({ length: 4 }, () => newReaper({ leaderElection }))
    for (const reaper of reapers) await reaper.start()
    await to(60_000)
    assert.equal(line.count('recover'), 60)
  })
})
