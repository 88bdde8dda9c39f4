// One leader among several Reapers, whatever happens to it. Real processes are killed and stopped in processes.ts.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Clock, MemoryStorage, Reaper } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { type Faulty, faulty } from './faulty-storage.ts'
import { defaultType } from 'holdfast/storage'

interface Candidate {
  readonly reaper: Reaper
  readonly line: Faulty
  /** No timer fires until it is resumed, as after SIGSTOP; time goes on. */
  suspend(): void
  resume(): void
}

test('[trap 45] [Q4.44] 200 takeovers from leaders that die, stall or stop: never two who act', async (t) => {
  const clock = fakeClock()
  const storage = new MemoryStorage({ clock })
  const lockTTL = 3_000
  const acquireRetryInterval = 500
  const problems: string[] = []
  let acted = 0
  const key = ['holdfast', 'reaper', defaultType]
  const holder = async (): Promise<string> => String(Buffer.from((await storage.kv.get(key)) ?? []))

  const enter = async (): Promise<Candidate> => {
    let suspended = false
    const late: (() => void)[] = []
    const own: Clock = {
      ...clock,
      after: (ms, callback) => clock.after(ms, () => (suspended ? void late.push(callback) : callback())),
    }
    const line = faulty(storage)
    const reaper = new Reaper({
      storage: line.storage,
      clock: own,
      visibilityTimeout: 1_000_000,
      checkInterval: 700,
      leaderElection: { enabled: true, lockTTL, renewalInterval: 1_000, acquireRetryInterval },
    })
    reaper.on('error', () => {})
    // A Reaper that acts holds the lock at that instant.
    line.on('recover', async (apply) => {
      acted++
      const held = await holder()
      if (held !== reaper.reaperId) problems.push(`${reaper.reaperId} acts, and ${held || 'none'} leads`)
      if (!reaper.isLeader) problems.push(`${reaper.reaperId} acts, and says that it does not lead`)
      return apply()
    })
    await reaper.start()
    return {
      reaper,
      line,
      suspend: () => (suspended = true),
      resume: () => {
        suspended = false
        for (const callback of late.splice(0)) callback()
      },
    }
  }

  let candidates = [await enter(), await enter(), await enter()]
  t.after(async () => {
    for (const { line, resume } of candidates) {
      line.mend()
      resume()
    }
    const stopped = Promise.all(candidates.map(({ reaper }) => reaper.stop()))
    await clock.advance(20_000)
    await stopped
  })
  for (let round = 0; round < 200; round++) {
    const leader = candidates.find(({ reaper, line }) => reaper.isLeader && line.connections > 0)!
    assert.ok(leader, `round ${round}: there is no leader`)
    const end = ['die', 'suspend', 'stop'][round % 3]!
    if (end === 'die') leader.line.cut()
    if (end === 'suspend') leader.suspend()
    if (end === 'stop') await leader.reaper.stop()
    // At the latest then, from any moment between two renewals.
    await clock.advance(lockTTL + acquireRetryInterval)
    const next = candidates.filter(({ reaper }) => reaper !== leader.reaper && reaper.isLeader)
    assert.equal(next.length, 1, `round ${round}: ${next.length} lead after the end of one`)
    const before = acted
    if (end === 'suspend') {
      const lost = new Promise<void>((resolve) => void leader.reaper.once('leadershipLost', () => resolve()))
      leader.resume()
      await clock.settle()
      assert.equal(leader.reaper.isLeader, false)
      await lost
    } else {
      // Another takes its place.
      if (end === 'die') leader.line.mend()
      await leader.reaper.stop()
      candidates = [...candidates.filter(({ reaper }) => reaper !== leader.reaper), await enter()]
    }
    await clock.advance(round % 900)
    assert.ok(acted >= before)
  }
  assert.deepEqual(problems, [])
  assert.ok(acted > 400, `they acted ${acted} times`)
})
