// Who may do what: authorization, permissions, hosts, origins and tokens. Everything that is refused is one line in the log.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryStorage } from 'holdfast'
import { createDashboard, type Permission, permissions } from '@holdfast/dashboard'
import type { AuditPage, Failure } from '../src/shared/api.ts'
import { views, writes } from '../src/server/routes.ts'
import { Client, open, origin } from './client.ts'

const code = ({ body }: { readonly body: unknown }): string => (body as Failure).code

test('[H8] the list of routes, each with its permission', () => {
  assert.deepEqual(
    [...views, ...writes].map(({ method, path, permission }) => `${method} ${path} ${permission}`),
    [
      'GET session view',
      'GET summary view',
      'GET overview view',
      'GET types view',
      'GET jobs view',
      'GET histogram view',
      'GET job view',
      'GET tree view',
      'GET history view',
      'GET findings view',
      'GET audit view',
      'GET schedules view',
      'GET schedules/preview view',
      'GET workers view',
      'GET limits view',
      'GET peers view',
      'GET bulk view',
      'GET bulk/preview view',
      'POST jobs/retry revive',
      'POST jobs/run-now revive',
      'POST jobs/reschedule revive',
      'POST jobs/cancel cancel',
      'POST jobs/remove remove',
      'POST jobs/add edit',
      'POST jobs/replay edit',
      'POST bulk/retry revive',
      'POST bulk/cancel cancel',
      'POST bulk/remove remove',
      'POST bulk/stop view',
      'POST types/pause pause',
      'POST types/resume pause',
      'POST limits/set limits',
      'POST limits/clear limits',
      'POST schedules/pause schedules',
      'POST schedules/resume schedules',
      'POST schedules/fire schedules',
      'POST schedules/put schedules',
      'POST peers/pause peers',
      'POST peers/resume peers',
      'POST peers/contact peers',
      'POST peers/block peers',
      'POST peers/unblock peers',
    ],
  )
})

const paths = [
  '/',
  '/jobs',
  '/assets/x.js',
  '/api/stream?of=summary',
  '/api/unknown',
  ...views.map(({ path }) => `/api/${path}`),
]

test('[F43] without authorize every request is 403, and says why', async () => {
  const client = new Client(createDashboard({ storage: new MemoryStorage() }))
  for (const path of [...paths, ...writes.map((route) => `/api/${route.path}`)]) {
    for (const method of ['GET', 'POST', 'HEAD', 'DELETE']) {
      const reply = await client.send(path, { method })
      assert.equal(reply.status, 403, `${method} ${path}`)
      if (method !== 'HEAD') assert.equal(code(reply), 'NO_AUTHORIZE')
    }
  }
  const page = await client.send('/', { headers: { accept: 'text/html' } })
  assert.match(String(page.body), /authorize/)
  await client.dashboard.close()
})

test('[H8] a person without the permission of a route is refused, and with it is not', async () => {
  let can: readonly Permission[] = []
  const { client, lines } = open({ authorize: () => ({ actor: 'bob', can }) })
  can = ['view']
  await client.view('session')
  for (const { method, path, permission } of [...views, ...writes]) {
    const send = () => (method === 'GET' ? client.send(`/api/${path}`) : client.post(path, {}))
    client.token ||= (await client.view<{ token: string }>('session')).token
    can = permissions.filter((other) => other !== permission)
    const refused = await send()
    assert.deepEqual([refused.status, code(refused)], [403, 'PERMISSION'], path)
    assert.deepEqual(lines.at(-1)?.data, { actor: 'bob', code: 'PERMISSION', method, path: `/api/${path}` })
    can = [permission]
    // What is wrong then is the empty body, or a job that does not exist.
    assert.notEqual((await send()).status, 403, path)
    can = ['view']
  }
  await client.dashboard.close()
})

test('[F43] the default grant is view', async () => {
  const { client } = open({ authorize: () => ({ actor: 'bob' }) })
  assert.deepEqual((await client.view<{ can: string[] }>('session')).can, ['view'])
  await client.dashboard.close()
})

test('authorize: null and a throw refuse, a Response is sent, and an unknown permission grants nothing', async () => {
  const answers = [
    null,
    undefined,
    { actor: '' },
    { actor: 7 },
    { actor: 'x', can: 'view' },
    { actor: 'é'.repeat(200) },
  ]
  for (const answer of answers) {
    const { client } = open({ authorize: () => answer as never })
    assert.equal((await client.send('/api/overview')).status, 403, JSON.stringify(answer))
    await client.dashboard.close()
  }
  const thrown = open({
    authorize: () => {
      throw new Error('secret of the session store')
    },
  })
  const reply = await thrown.client.send('/api/overview')
  assert.deepEqual([reply.status, code(reply)], [403, 'AUTHORIZE_FAILED'])
  assert.ok(!JSON.stringify(reply.body).includes('secret'))
  assert.equal(thrown.lines[0]?.level, 'error')

  const redirect = open({ authorize: () => new Response(null, { status: 302, headers: { location: '/login' } }) })
  const sent = await redirect.client.send('/')
  assert.deepEqual([sent.status, sent.headers.get('location')], [302, '/login'])

  const odd = open({ authorize: () => ({ actor: 'x', can: ['view', 'everything', '__proto__'] as never }) })
  assert.deepEqual((await odd.client.view<{ can: string[] }>('session')).can, ['view'])
  for (const { client } of [thrown, redirect, odd]) await client.dashboard.close()
})

test('[F43] a 403 that authorize() answers is audited, and strangers do not hide what a known person tried', async () => {
  const { client, storage, lines } = open({
    authorize: (request) => (request.headers.has('x-person') ? { actor: 'eve' } : new Response('no', { status: 403 })),
  })
  for (let count = 0; count < 30; count++) assert.equal((await client.send('/api/overview')).status, 403)
  assert.equal(lines.filter(({ data }) => data.code === 'AUTHORIZE').length, 30)
  const headers = { 'x-person': '1', 'content-type': 'application/json' }
  assert.equal((await client.send('/api/jobs/remove', { method: 'POST', headers, body: '{}' })).status, 403)
  await client.dashboard.close()
  const { client: next } = open({ storage })
  const { items } = await next.view<AuditPage>('audit')
  const refusals = items.filter(({ refused }) => refused).map(({ by }) => by)
  assert.equal(refusals.filter((by) => by === 'unknown').length, 10)
  assert.deepEqual(
    items.filter(({ by }) => by === 'eve').map(({ what }) => what),
    ['POST /api/jobs/remove: This needs the permission remove.'],
  )
  await next.dashboard.close()
})

test('[H9] a write needs the token of its actor', async () => {
  const { client, lines } = open()
  const body = { face: 'queue', name: 'mail' }
  assert.equal((await client.post('types/pause', body)).status, 200)
  const other = open({ authorize: () => ({ actor: 'eve', can: permissions }), secret: 'sixteen characters' })
  const same = open({ secret: 'sixteen characters' })
  const tokens = { none: '', wrong: 'x'.repeat(43), eve: (await other.client.view<{ token: string }>('session')).token }
  for (const [name, token] of Object.entries(tokens)) {
    const reply = await same.client.post('types/pause', body, { 'x-holdfast-token': token })
    assert.deepEqual([reply.status, code(reply)], [403, 'TOKEN'], name)
  }
  assert.deepEqual(
    lines.map(({ level }) => level),
    ['info'],
  )
  assert.deepEqual(
    same.lines.map(({ data }) => data.code),
    ['TOKEN', 'TOKEN', 'TOKEN'],
  )
  for (const opened of [client, other.client, same.client]) await opened.dashboard.close()
})

test('[H9] a write from another origin is refused: a form, fetch, a foreign host', async () => {
  const { client, storage } = open()
  const body = { face: 'queue', name: 'mail' }
  await client.view('session')
  const cases: [Record<string, string>, number][] = [
    [{ origin: 'https://evil.example' }, 403],
    [{ origin: 'null' }, 403],
    [{ origin: 'http://jobs.example.evil.example' }, 403],
    [{ origin: `${origin}:8080` }, 403],
    [{ 'sec-fetch-site': 'cross-site' }, 403],
    [{ 'sec-fetch-site': 'same-site' }, 403],
    [{ 'sec-fetch-site': 'none' }, 403],
    [{ 'content-type': 'text/plain' }, 415],
    [{ 'content-type': 'application/x-www-form-urlencoded' }, 415],
    [{ 'sec-fetch-site': 'same-origin' }, 200],
    // A proxy that ends TLS.
    [{ origin: 'https://jobs.example' }, 200],
  ]
  for (const [headers, status] of cases) {
    assert.equal((await client.post('types/pause', body, headers)).status, status, JSON.stringify(headers))
  }
  const headers = { 'content-type': 'application/json', 'x-holdfast-token': client.token }
  const bare = await client.send('/api/types/resume', { method: 'POST', headers, body: JSON.stringify(body) })
  assert.deepEqual([bare.status, code(bare)], [403, 'CROSS_ORIGIN'])

  const bound = open({ storage, hosts: ['127.0.0.1', 'localhost'] })
  const reply = await bound.client.send('/api/overview')
  assert.deepEqual([reply.status, code(reply)], [403, 'HOST'])
  for (const opened of [client, bound.client]) await opened.dashboard.close()
})

test('[H9] no GET changes anything', async () => {
  const { client, storage, queue } = open()
  const mail = queue('mail')
  await mail.enqueue('a', 1)
  const before = await mail.get('a')
  for (const path of [...paths, ...writes.map((route) => `/api/${route.path}`)]) {
    const reply = await client.send(`${path}${path.includes('?') ? '&' : '?'}face=queue&name=mail&id=a&q=`, {
      method: 'HEAD',
    })
    assert.ok(reply.status < 500, path)
  }
  assert.deepEqual(await mail.get('a'), before)
  assert.equal((await mail.counts()).paused, undefined)
  await client.dashboard.close()
  await mail.stop()
  void storage
})

test('[H10] every answer has the headers that keep other code out', async () => {
  const { client } = open()
  for (const path of ['/', '/api/overview', '/api/none', '/api/stream']) {
    const { headers } = await client.send(path)
    const policy = headers.get('content-security-policy')!
    assert.match(policy, /default-src 'none'/)
    assert.match(policy, /frame-ancestors 'none'/)
    assert.doesNotMatch(policy, /unsafe|https?:|\*/)
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.equal(headers.get('x-frame-options'), 'DENY')
    assert.equal(headers.get('access-control-allow-origin'), null)
  }
  const { body } = await client.send('/')
  assert.doesNotMatch(String(body), /<script(?![^>]* src=)|<style| on\w+=| style=/)
  await client.dashboard.close()
})

test('without peers their view is a 404 that says why', async () => {
  const { client } = open()
  const reply = await client.send('/api/peers')
  assert.deepEqual([reply.status, code(reply)], [404, 'NO_PEERS'])
  assert.equal((await client.view<{ hasPeers: boolean }>('session')).hasPeers, false)
  assert.equal((await client.post('peers/pause', { url: 'https://a.example' })).status, 404)
  await client.dashboard.close()
})

test('options that make no sense are refused by name', () => {
  const storage = new MemoryStorage()
  for (const options of [
    {},
    { storage, admin: {} },
    { storage, basePath: 'jobs' },
    { storage, basePath: '/jobs/' },
    { storage, basePath: '/"><script>' },
    { storage, authorize: true },
    { storage, secret: 'short' },
    { storage, hosts: 'localhost' },
    { storage, peers: {} },
    { storage, autorize: () => null },
  ]) {
    assert.throws(() => createDashboard(options as never), { name: 'TypeError', code: 'INVALID_ARGUMENT' })
  }
})
