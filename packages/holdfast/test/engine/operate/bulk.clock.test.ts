// Bulk actions: pace, stop, bounds, and storages that fail.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { type BulkAction, type BulkProgress, createAdmin, MemoryStorage } from 'holdfast'
import type { ClaimedJob, NewJob } from 'holdfast/storage'
import { fakeClock } from 'holdfast/testing'
import { faulty } from '../../queue/faulty-storage.ts'

const type = 'queue.work'
const retention = { completedMs: 1e9, failedMs: 1e9, cancelledMs: 1e9 }

function bulkBench(t: TestContext) {
  const clock = fakeClock()
  const memory = new MemoryStorage({ clock })
  const line = faulty(memory)
  const admin = createAdmin({ storage: line.storage, clock })
  t.after(() => admin.close())
  let claims = 0
  const claim = async (slots: number): Promise<readonly ClaimedJob[]> =>
    (await memory.claim({ worker: `w${++claims}`, slots, types: [{ type, leaseMs: 60_000 }] })).jobs
  const failAll = async (jobs: readonly ClaimedJob[]): Promise<void> => {
    await memory.settle(jobs.map(({ id, worker, attempt }) => ({ type, id, worker, attempt, kind: 'failed' })))
  }
  return {
    clock,
    line,
    memory,
    admin,
    claim,
    failAll,
    async addFailed(count: number, given: Partial<NewJob> = {}): Promise<void> {
      await memory.add(
        Array.from({ length: count }, (_, n) => ({ type, id: `j${n}`, token: `t${n}`, retention, ...given })),
      )
      await failAll(await claim(count))
    },
    failedNow: async (): Promise<number> => (await memory.count({ types: [type] })).types[0]!.states.failed,
  }
}

const boom = (): never => assert.fail('boom')

async function readAll(action: BulkAction): Promise<void> {
  for await (const { done } of action) assert.ok(done <= 500)
}

test('[F31] at most perSecond jobs a second', async (t) => {
  const { admin, clock, addFailed, failedNow } = bulkBench(t)
  await addFailed(100)
  const action = admin.redrive({ name: 'work' }, { perSecond: 20 })
  for (let second = 1; second <= 5; second++) {
    await clock.advance(999)
    assert.ok(100 - (await failedNow()) <= 20 * second, `${100 - (await failedNow())} after ${second} s`)
    await clock.advance(1)
  }
  assert.equal((await action.result).done, 100)
})

test('[F31] stop ends it at once, also while it waits for its turn; a second run does the rest', async (t) => {
  const { admin, clock, addFailed, failedNow } = bulkBench(t)
  await addFailed(50)
  const action = admin.redrive({ name: 'work' }, { perSecond: 1 })
  await clock.advance(3_500)
  const stopped = action.stop()
  // No time passes.
  const { done, stopped: isStopped, matched, total } = await stopped
  assert.deepEqual([done, isStopped, matched, total], [4, true, 50, 50])
  assert.equal(await failedNow(), 46)
  assert.equal((await admin.redrive({ name: 'work' }).result).done, 46)
})

test('[F31] a job that fails again while the action runs is not taken again', async (t) => {
  const { admin, clock, line, addFailed, failAll, claim } = bulkBench(t)
  await addFailed(1_200)
  line.on('revive', async (apply) => {
    const answer = await apply()
    await clock.advance(1)
    await failAll(await claim(1_000))
    return answer
  })
  const { matched, done } = await admin.redrive({ name: 'work' }).result
  assert.deepEqual([matched, done], [1_200, 1_200])
  assert.equal(line.count('revive'), 3)
})

test('[F31] it holds one page at a time, and shows its progress by iteration', async (t) => {
  const { admin, line, addFailed } = bulkBench(t)
  await addFailed(2_100)
  const seen: BulkProgress[] = []
  for await (const progress of admin.bulk.retry({ name: 'work' })) seen.push(progress)
  assert.deepEqual(seen.at(-1), { total: 2_100, matched: 2_100, done: 2_100, skipped: 0, failed: 0 })
  assert.ok(seen.length >= 5, `${seen.length} steps`)
  assert.deepEqual(
    seen.map(({ done }) => done),
    seen.map(({ done }) => done).toSorted((a, b) => a - b),
  )
  for (const { args } of line.calls.filter(({ verb }) => verb === 'revive')) {
    assert.ok((args[0] as unknown[]).length <= 500)
  }
})

test('[F31] a batch that one job spoils is sent job by job; that one is counted, and the others are done', async (t) => {
  const { admin, line, addFailed, failedNow } = bulkBench(t)
  await addFailed(10)
  line.on('revive', async (apply, { args }) => {
    if ((args[0] as { id: string }[]).some(({ id }) => id === 'j3')) throw new Error('a bad row')
    return apply()
  })
  const { done, failed, errors } = await admin.bulk.retry({ name: 'work' }).result
  assert.deepEqual([done, failed, await failedNow()], [9, 1, 1])
  assert.equal(errors[0]!.job.id, 'j3')
  assert.match(errors[0]!.error.message, /a bad row/)
})

test('[F31] a storage that does not answer ends the action with its error, and it can be run again', async (t) => {
  const { admin, clock, line, addFailed, failedNow } = bulkBench(t)
  await addFailed(600)
  line.on('revive', (apply, { number }) => (number === 2 ? new Promise(() => {}) : apply()))
  const action = admin.bulk.retry({ name: 'work' })
  const ended = assert.rejects(action.result, { code: 'STORAGE_ERROR' })
  const iterated = assert.rejects(readAll(action), { code: 'STORAGE_ERROR' })
  await clock.advance(10_000)
  await Promise.all([ended, iterated])
  assert.equal(action.progress.done, 500)
  assert.equal((await admin.bulk.retry({ name: 'work' }).result).done, 100)
  assert.equal(await failedNow(), 0)
})

test('[F31] a job whose key was taken since is counted as failed, with the reason', async (t) => {
  const { admin, memory, addFailed } = bulkBench(t)
  await addFailed(1, { deduplication: { key: 'k', mode: 'simple' } })
  await memory.add([{ type, id: 'other', token: 'x', retention, deduplication: { key: 'k', mode: 'simple' } }])
  const { failed, errors } = await admin.bulk.retry({ name: 'work' }).result
  assert.equal(failed, 1)
  assert.equal((errors[0]!.error as { code?: string }).code, 'DEDUPLICATION_CONFLICT')
})

test('[F31] an onProgress that throws does not end the action', async (t) => {
  const { admin, addFailed } = bulkBench(t)
  await addFailed(3)
  assert.equal((await admin.bulk.retry({ name: 'work' }, { onProgress: boom }).result).done, 3)
})

test('[F31] cancel with abort reaches running jobs; without, it leaves them alone', async (t) => {
  const { admin, memory, claim } = bulkBench(t)
  await memory.add(['a', 'b', 'c'].map((id) => ({ type, id, token: id, retention })))
  const [running] = await claim(1)
  assert.equal((await admin.bulk.cancel({ name: 'work' }).result).done, 2)
  const states = async (): Promise<string> => (await memory.get([running!]))[0]!.state
  assert.equal(await states(), 'processing')
  assert.equal((await admin.bulk.cancel({ name: 'work' }, { abort: true }).result).done, 1)
  assert.equal((await memory.get([running!]))[0]!.cancelling, true)
  assert.equal((await admin.bulk.cancel({ name: 'work' }, { force: true }).result).done, 1)
  assert.equal(await states(), 'cancelled')
})

test('[F38] events of all types: one that comes later is found, and a gap says what is missing', async (t) => {
  const { admin, memory, clock } = bulkBench(t)
  const stream = admin.events()
  await stream.ready
  await memory.add([{ type: 'queue.new', id: 'a', token: 'a', retention }])
  await clock.advance(5_000)
  await memory.add([{ type: 'queue.new', id: 'b', token: 'b', retention }])
  await clock.settle()
  const seen: unknown[] = []
  for await (const entry of stream) {
    seen.push([entry.event, entry.name, 'id' in entry ? entry.id : undefined])
    if (seen.length === 2) break
  }
  assert.deepEqual(seen, [
    ['gap', 'new', undefined],
    ['queued', 'new', 'b'],
  ])
})

test('a list fills its page from several small ones, and stops after 21 calls', async (t) => {
  const { admin, memory, line } = bulkBench(t)
  await memory.add(Array.from({ length: 30 }, (_, n) => ({ type, id: `j${n}`, token: `t${n}`, retention })))
  // A storage that gives one job per call.
  line.on('list', async (_apply, { args }) => memory.list({ ...(args[0] as { of: 'jobs'; limit: number }), limit: 1 }))
  const first = await admin.jobs.list({ limit: 5 })
  assert.equal(first.items.length, 5)
  const second = await admin.jobs.list({ limit: 1_000, cursor: first.nextCursor })
  assert.equal(second.items.length, 21)
  const third = await admin.jobs.list({ limit: 1_000, cursor: second.nextCursor })
  assert.equal(third.items.length, 4)
  assert.equal(third.nextCursor, undefined)
})
