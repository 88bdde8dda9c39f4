// The judge reports each kind of loss and repeat.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sqliteStore } from '@holdfast/federation'
import { SqliteStorage } from 'holdfast/sqlite'
import { judge } from './judge.ts'
import { activityOf, deliveryType, followed, nameOf } from './sender.ts'

const receiver = 'http://127.0.0.1:1'
const activities = 4
const names = [0, 1, 2, 3].map((number) => nameOf(activityOf(number)))

/** Makes a sender that has sent everything, except what `missing` names. */
async function sender(missing: 'nothing' | 'an acknowledgement' | 'a job' | 'a failed row') {
  const storage = new SqliteStorage({ path: ':memory:' })
  const store = sqliteStore({ storage })
  await storage.connect()
  await store.connect()
  for (let number = 0; number < activities; number++) {
    const activity = activityOf(number)
    const id = `delivery-${number}`
    if (missing === 'a job' && number === 1) continue
    await storage.add([
      {
        type: deliveryType,
        id,
        token: id,
        delayMs: 0,
        retention: { completedMs: 60_000, failedMs: 60_000, cancelledMs: 60_000 },
      },
    ])
    const [job] = (await storage.claim({ worker: id, slots: 1, types: [{ type: deliveryType, leaseMs: 1_000 }] })).jobs
    await storage.settle([{ type: deliveryType, id, worker: id, attempt: job!.attempt, kind: 'completed' }])
    if (activity.kind !== 'follow') continue
    const { followerId } = activity
    const fields = { followerId, followingId: followed, followerServerUrl: receiver, followingServerUrl: receiver }
    await store.follows.insert({ id, ...fields, accepted: false, acknowledged: false, createdAt: 1 })
    if (missing !== 'an acknowledgement' || number > 0) await store.follows.acknowledge(id, true)
  }
  if (missing === 'a failed row') {
    const id = 'delivery-1'
    await store.deliveries.insert({ id, name: 'x', targetUrl: 'x', serverUrl: 'x', payload: '{}', createdAt: 1 })
    await store.deliveries.failed(id, 'HTTP_STATUS', 2)
  }
  return { storage, store }
}

const acksOf = (count: number): Set<string> => new Set(Array.from({ length: count }, (_, n) => `ack-${n}`))

const verdictOn = async (
  missing: Parameters<typeof sender>[0],
  effects: readonly string[],
  unreached: string[] = [],
  acks = acksOf(activities),
) => judge(await sender(missing), { activities, receiver }, { effects, acks }, unreached)

test('every activity applied once is clean', async () => {
  assert.equal((await verdictOn('nothing', names)).isClean, true)
})

test('an activity without an effect is lost, one with two is repeated', async () => {
  const verdict = await verdictOn('nothing', ['follower-0', 'post-1', 'post-1', 'post-3'])
  assert.deepEqual([verdict.lost, verdict.repeated], [['follower-2'], ['post-1: 2 times']])
  assert.equal(verdict.isClean, false)
})

test('a missing acknowledgement, a missing job and a failed row are reported', async () => {
  const unacknowledged = await verdictOn('an acknowledgement', names)
  assert.deepEqual([unacknowledged.unacknowledged, unacknowledged.isClean], [['follower-0'], false])
  const jobs = await verdictOn('a job', names)
  assert.deepEqual([jobs.left, jobs.isClean], [['3 of 4 jobs are completed'], false])
  const row = await verdictOn('a failed row', names)
  assert.deepEqual([row.left, row.isClean], [['row delivery-1: failed, HTTP_STATUS, completed'], false])
})

test('a kill point that no process reached is not clean', async () => {
  assert.equal((await verdictOn('nothing', names, ['seal'])).isClean, false)
})

test('a message with two different acknowledgements is not clean', async () => {
  const { unequal, isClean } = await verdictOn('nothing', names, [], acksOf(activities + 1))
  assert.deepEqual([unequal, isClean], [['5 acknowledgements of 4 messages'], false])
})
