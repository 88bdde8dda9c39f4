// The metrics of a federation, its diagnostics channel, and what the admin handle shows of its peers.

import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { test } from 'node:test'
import { createAdmin, MemoryStorage } from 'holdfast'
import type { Federation } from '../src/federation.ts'
import { servers } from './servers.ts'
import { until } from './seed/bench.ts'

const insert = (id: string) => ({
  id,
  payload: { method: 'INSERT', id, createdAt: new Date().toISOString(), data: 1 },
})

/** A port of loopback that the options allow, and that nothing listens on. */
const dead = 'http://127.0.0.1:1'

test('metrics, events on the channel, and peers in the admin handle', async (t) => {
  const storage = new MemoryStorage()
  const [alpha, beta] = (await servers(t, 2, (index) => ({
    ...(index === 0 && { storage }),
    handlers: { INSERT: ({ body }) => (body.id === 'bad' ? { reject: 'SPAM' } : undefined) },
    http: { allowHttp: true, allowCidrs: ['127.0.0.0/8'], allowPorts: Array.from({ length: 65_535 }, (_, n) => n + 1) },
  }))) as [Federation, Federation]
  const seen: { event: string; server: string | undefined }[] = []
  const onEvent = (message: unknown): void => void seen.push(message as (typeof seen)[number])
  subscribe('holdfast:federation', onEvent)
  t.after(() => unsubscribe('holdfast:federation', onEvent))
  const ended = { delivered: 0, failed: 0, contacts: 0 }
  alpha.on('delivered', () => ended.delivered++)
  alpha.on('delivery_failed', () => ended.failed++)
  alpha.on('contact_failed', () => ended.contacts++)
  await alpha.start()
  await alpha.send(insert('good'), [beta.origin!, dead])
  await until(() => ended.delivered === 1 && ended.contacts >= 1, 'delivered, and a failed contact')
  await alpha.send(insert('bad'), [beta.origin!])
  await until(() => ended.failed === 1, 'refused')

  const text = await alpha.metrics()
  for (const line of [
    'holdfast_federation_deliveries_total{outcome="delivered"} 1',
    'holdfast_federation_deliveries_total{outcome="failed"} 1',
    'holdfast_federation_contacts_total{reason="ok"} 1',
    'holdfast_federation_contacts_total{reason="DISCOVERY_FAILED"} 1',
    'holdfast_federation_pin_alarms_total 0',
    'holdfast_federation_peers{state="healthy"} 1',
    'holdfast_federation_peers{state="suspect"} 1',
    `holdfast_federation_parked{peer="${dead}"} 1`,
    'holdfast_federation_parked{peer="other"} 0',
    'holdfast_federation_slots_used{pool="delivery"} 0',
    'holdfast_federation_ack_seconds_count 1',
    '# TYPE holdfast_federation_request_seconds histogram',
  ]) {
    assert.ok(text.split('\n').includes(line), `${line}\n${text}`)
  }
  const received = await beta.metrics()
  assert.ok(received.includes('holdfast_federation_inbound_total{code="OK"} 1'), received)
  // A code of the app is no label: it may be anything.
  assert.ok(received.includes('holdfast_federation_inbound_total{code="APPLICATION"} 1'), received)
  assert.ok(seen.some(({ event, server }) => event === 'delivered' && server === alpha.origin))
  assert.ok(seen.some(({ event, server }) => event === 'received' && server === beta.origin))

  await using admin = createAdmin({ storage })
  const name = { face: 'federation', name: 'federation-delivery' }
  const summary = (await admin.types()).find((type) => type.face === name.face && type.name === name.name)
  const held = summary?.pausedGroups.map(({ group, by }) => [group, by])
  assert.deepEqual(held, [[dead, '@holdfast/federation']])
  const { items } = await admin.jobs.list({ ...name, group: dead })
  assert.deepEqual(
    items.map(({ id }) => id),
    [`good ${dead}`],
  )
})
