// The bound on what waits for one peer.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sized } from '../../holdfast/test/full-size.ts'
import type { Federation } from '../src/federation.ts'
import { sqliteStore } from '../src/store/sqlite/sqlite-store.ts'
import { servers } from './servers.ts'

const maxPerPeer = sized(10_000, 100)
const count = sized(100_000, 1_000)
const dead = 'http://127.0.0.1:1'

test(`[G4] of ${count} deliveries to a dead peer ${maxPerPeer} wait; the oldest end without a body, and one event tells it`, async (t) => {
  const store = sqliteStore({ path: ':memory:' })
  const options = { store, policies: { delivery: { maxPerPeer } } }
  const [alpha] = (await servers(t, 1, () => options)) as [Federation]
  const events: { origin: string; count: number }[] = []
  alpha.on('backlog_dropped', (event) => void events.push(event))
  const well = 'http://127.0.0.1:2'
  for (let n = 0; n < count; n++) {
    const payload = { method: 'INSERT', id: `i${n}`, createdAt: new Date().toISOString(), data: n }
    await alpha.send({ id: `i${n}`, payload }, n === 0 ? [dead, well] : [dead])
  }
  const [waits, other] = await store.deliveries.backlogs(0, 10)
  assert.ok(waits!.count <= maxPerPeer && waits!.count >= maxPerPeer * 0.8, JSON.stringify(waits))
  assert.deepEqual([waits!.serverUrl, other?.serverUrl, other?.count], [dead, well, 1])
  // A job per row that waits, and none of those that ended.
  const { states } = await alpha.deliveryQueue.queue.counts()
  assert.equal(states.queued + states.scheduled, waits!.count + 1)
  assert.equal(states.cancelled, 0)
  // The newest wait.
  assert.equal((await store.deliveries.get(`i${count - 1} ${dead}`))?.status, 'open')
  assert.equal(events.length, 1)
  const letters = await alpha.deadLetters.list({ code: 'BACKLOG_FULL', limit: count })
  assert.ok(letters.length > 0 && letters.length <= 1_000, String(letters.length))
  assert.ok(letters.every(({ payload, bodyId }) => payload === '' && bodyId === undefined))
  assert.equal(await alpha.deadLetters.redrive({ limit: count }), 0)
})
