// Every view and every write on SQLite, Redis and Postgres with live workers; who is refused, and that it is audited; random requests.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import * as fc from 'fast-check'
import type { Storage } from 'holdfast'
import type {
  ActionResult,
  AuditPage,
  BulkState,
  FindingsPage,
  HistoryPage,
  JobPageData,
  JobsPage,
  JobTree,
  LimitsPage,
  Overview,
  SchedulePreview,
  SchedulesPage,
  TypesPage,
} from '../src/shared/api.ts'
import { permissions } from '@holdfast/dashboard'
import { views, writes } from '../src/server/routes.ts'
import { openSample, type Sample } from './browser/sample.ts'
import { open, origin } from './client.ts'
import { driverNames, openStorage } from './storages.ts'

const job = (id: string, name = 'mail') => ({ face: 'queue', name, id })

/** Waits for a condition, for as long as the runner lets a test run. */
async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 20))
}

for (const driver of driverNames) {
  describe(`${driver}: the dashboard`, () => {
    let storage: Storage
    let close: () => Promise<void>
    let sample: Sample
    before(async () => {
      ;({ storage, close } = await openStorage(driver))
      sample = await openSample(storage)
    })
    after(async () => {
      await sample.close()
      await close()
    })

    test('[F43] every view answers with the data of the storage', async () => {
      const { client } = open({ storage })
      const { types, totals } = await client.view<Overview>('overview')
      assert.equal(types[0]!.name, 'webhooks')
      assert.equal(totals!.states.failing, 3)
      const { findings } = await client.view<FindingsPage>('findings')
      assert.ok(findings.some(({ code }) => code === 'no_worker'))
      const { points } = await client.view<HistoryPage>('history?range=1h')
      assert.ok(points.length === 60 && points.reduce((sum, { completed }) => sum + completed, 0) > 1_000)
      const { jobs } = await client.view<JobTree>(
        `tree?${new URLSearchParams({ face: 'chain', name: 'ship', id: sample.orderId })}`,
      )
      assert.deepEqual(jobs.map(({ name, state }) => `${name} ${state}`).toSorted(), [
        'charge-card failed',
        'check-address queued',
        'pack completed',
        'pack completed',
        'reserve-stock completed',
        'reserve-stock completed',
        'ship blocked',
      ])
      const limits = await client.view<LimitsPage>('limits')
      const invoices = limits.types.find(({ name }) => name === 'invoices')!
      assert.deepEqual(invoices.groups.map(({ group, effective }) => [group, effective.limit]).toSorted(), [
        ['acme', 1],
        ['globex', undefined],
      ])
      const refused = await client.view<JobsPage>(`jobs?${new URLSearchParams({ q: 'error:econn* type:mail' })}`)
      assert.ok(
        refused.items.length === 4 && refused.items.every(({ errorLine }) => errorLine?.includes('ECONNREFUSED')),
      )
      const found = await client.view<TypesPage>('types?q=MAI')
      assert.deepEqual([found.types.map(({ name }) => name), found.matching], [['mail'], 1])
      assert.deepEqual(found.types[0]!.limits.rate, { limit: 500, perMs: 60_000 })
      assert.equal((await client.view<TypesPage>('types')).total, types.length)
      for (const { path } of views) {
        if (path.startsWith('bulk') || ['job', 'tree', 'peers', 'schedules/preview'].includes(path)) continue
        assert.equal((await client.send(`/api/${path}`)).status, 200, path)
      }
      await client.dashboard.close()
    })

    test('[F43] every write does what it says, and the audit log names who did it', async () => {
      const { client } = open({ storage })
      const write = async <T>(path: string, body: unknown): Promise<T> => {
        const { status, body: answer } = await client.post<T>(path, body)
        assert.equal(status, 200, `${path}: ${JSON.stringify(answer)}`)
        return answer
      }
      const changed = async (path: string, id: string, name?: string, more: object = {}): Promise<string> =>
        (await write<ActionResult>(`jobs/${path}`, { jobs: [job(id, name)], ...more })).results[0]!.status
      assert.equal(await changed('retry', 'mail-18'), 'retried')
      assert.equal(await changed('run-now', 'invoice-1', 'invoices'), 'rescheduled')
      assert.equal(await changed('cancel', 'invoice-2', 'invoices', { reason: 'twice' }), 'cancelled')
      assert.equal(await changed('cancel', 'harbour.jpg', 'thumbnails', { abort: true }), 'cancelling')
      assert.equal(await changed('remove', 'mail-1'), 'removed')
      const replayed = await write<{ status: string; id: string }>('jobs/replay', {
        ...job('mail-24'),
        payload: '{"to":"ada@example.com"}',
      })
      assert.equal(replayed.status, 'added')
      await until(async () => (await sample.mail.getStatus(replayed.id))?.state === 'completed')
      const later = Date.now() + 3_600_000
      assert.equal(await changed('reschedule', 'hook-1', 'webhooks', { runAt: later }), 'rescheduled')
      const moved = await client.view<JobPageData>(`job?${new URLSearchParams(job('hook-1', 'webhooks'))}`)
      assert.deepEqual([moved.state, moved.runAt], ['scheduled', later])
      const added = await write<{ status: string; id: string }>('jobs/add', {
        name: 'mail',
        payload: '{"to":"new@example.com"}',
        group: 'acme',
      })
      assert.equal(added.status, 'added')
      await until(async () => (await sample.mail.getStatus(added.id))?.state === 'completed')
      const again = await write<{ status: string }>('jobs/add', { name: 'mail', id: added.id })
      assert.equal(again.status, 'duplicate')
      await write('types/pause', { face: 'queue', name: 'invoices', group: 'acme' })
      const grouped = (await client.view<LimitsPage>('limits')).types.find(({ name }) => name === 'invoices')
      assert.deepEqual(grouped?.pausedGroups, ['acme'])
      await write('types/resume', { face: 'queue', name: 'invoices', group: 'acme' })
      await write('types/pause', { face: 'queue', name: 'webhooks' })
      await write('types/resume', { face: 'queue', name: 'webhooks' })
      await write('limits/set', { face: 'queue', name: 'webhooks', limits: { concurrency: 4 } })
      await write('limits/clear', { face: 'queue', name: 'webhooks' })
      const schedule = { face: 'queue', owner: 'mail', name: 'keep-alive' }
      await write('schedules/pause', schedule)
      await write('schedules/resume', schedule)
      await write('schedules/fire', schedule)
      await write('schedules/put', { ...schedule, everyMs: 1_200_000 })
      const { schedules } = await client.view<SchedulesPage>('schedules')
      assert.equal(schedules.find(({ name }) => name === 'keep-alive')?.everyMs, 1_200_000)
      const { next: slots } = await client.view<SchedulePreview>(
        'schedules/preview?cron=0%2012%20*%20*%20*&timeZone=UTC',
      )
      assert.match(slots[0]!.local, / 12:00:00 /)
      const bulk = await write<BulkState>('bulk/cancel', { q: 'type:webhooks' })
      await until(async () => !(await client.view<BulkState>(`bulk?id=${bulk.id}`)).isRunning)
      assert.equal((await client.view<BulkState>(`bulk?id=${bulk.id}`)).done, 5)
      const expected = [
        "retried 1 of 1 job ('mail-18')",
        "moved 1 of 1 job ('invoice-1')",
        "cancelled 1 of 1 job ('invoice-2')",
        "removed 1 of 1 job ('mail-1')",
        `replayed job 'mail-24' of queue 'mail' with another payload as '${replayed.id}'`,
        "moved 1 of 1 job ('hook-1')",
        `added job '${added.id}' to queue 'mail'`,
        "paused group 'acme' of queue 'invoices'",
        "resumed group 'acme' of queue 'invoices'",
        "paused schedule 'keep-alive' of queue.mail",
        "resumed schedule 'keep-alive' of queue.mail",
        "changed schedule 'keep-alive' of queue.mail",
        "paused queue 'webhooks'",
        "resumed queue 'webhooks'",
        "set limits of queue 'webhooks'",
        "removed the limits that were set of queue 'webhooks'",
        "fired schedule 'keep-alive' of queue.mail",
        'cancel ended: 5 of 5 jobs done, 0 skipped, 0 failed',
      ]
      await client.dashboard.close()
      const { client: next } = open({ storage })
      const { items } = await next.view<AuditPage>('audit')
      for (const what of expected) {
        assert.ok(
          items.some((entry) => entry.what === what && entry.by === 'ada'),
          `${what}\n${items.map((entry) => `${entry.by} ${entry.what}`).join('\n')}`,
        )
      }
      await next.dashboard.close()
    })

    test('[H8] [H9] every write without permission, without token, from another origin: refused, audited, nothing changed', async () => {
      const body = { jobs: [job('mail-2')], ...job('mail-2'), q: 'type:mail', owner: 'mail', limits: {}, payload: '1' }
      const ways = {
        eve: { can: ['view'] as const, headers: {} },
        mallory: { can: permissions, headers: { 'x-holdfast-token': 'x' } },
        oscar: { can: permissions, headers: { origin: 'http://evil.example' } },
      }
      const needing = writes.filter(({ permission }) => permission !== 'view')
      for (const [actor, { can, headers }] of Object.entries(ways)) {
        const refused = actor === 'eve' ? needing : writes
        // Ten refusals of a person are stored per minute and dashboard.
        for (let start = 0; start < refused.length; start += 10) {
          const { client } = open({ storage, authorize: () => ({ actor, can }) })
          for (const { path } of refused.slice(start, start + 10)) {
            assert.equal((await client.post(path, body, headers)).status, 403, `${actor} ${path}`)
          }
          await client.dashboard.close()
        }
      }
      const { client } = open({ storage })
      const { items } = await client.view<AuditPage>('audit')
      for (const actor of Object.keys(ways)) {
        const found = items.filter(({ by, refused }) => by === actor && refused).map(({ what }) => what.split(':')[0])
        const expected = (actor === 'eve' ? needing : writes).map(({ path }) => `POST /api/${path}`)
        assert.deepEqual(found.toSorted(), expected.toSorted(), actor)
      }
      await client.dashboard.close()
      assert.equal((await sample.mail.getStatus('mail-2'))?.state, 'completed')
    })

    test('[F43] 200 random requests: none is a 500', async () => {
      const { client, lines } = open({ storage })
      const { token } = await client.view<{ token: string }>('session')
      const paths = [...views, ...writes].map(({ path }) => path)
      const value = fc.oneof(
        fc.string({ unit: 'binary', maxLength: 40 }),
        fc.constantFrom('mail', 'queue', 'mail-2', 'state:failed', '15m', '\0', '../x', 'a'.repeat(600)),
        fc.jsonValue(),
      )
      const names = fc.constantFrom(
        'face',
        'name',
        'id',
        'q',
        'cursor',
        'limit',
        'sort',
        'range',
        'action',
        'of',
        'jobs',
        'payload',
        'limits',
        'group',
        'url',
        'owner',
        'cron',
        'everyMs',
        'timeZone',
        'runAt',
        'page',
      )
      const requests = fc.record({
        method: fc.constantFrom('GET', 'POST', 'POST', 'PUT', 'HEAD'),
        path: fc.oneof(fc.constantFrom(...paths), fc.webPath()),
        query: fc.array(fc.tuple(names, value), { maxLength: 5 }),
        body: fc.oneof(fc.dictionary(names, value), fc.jsonValue()),
      })
      await fc.assert(
        fc.asyncProperty(requests, async ({ method, path, query, body }) => {
          const search = new URLSearchParams(
            query.map(([name, given]) => [name, typeof given === 'string' ? given : JSON.stringify(given)]),
          )
          const hasBody = method === 'POST' || method === 'PUT'
          const { status } = await client.send(`/api/${path.replace(/^\/+/, '')}?${search}`, {
            method,
            headers: { origin, 'content-type': 'application/json', 'x-holdfast-token': token },
            ...(hasBody && { body: JSON.stringify(body) }),
          })
          assert.ok(
            status < 500,
            `${method} ${path} ${search} ${JSON.stringify(body)}: ${status} ${JSON.stringify(lines.at(-1)?.data)}`,
          )
        }),
        { numRuns: 200 },
      )
      await client.dashboard.close()
    })
  })
}
