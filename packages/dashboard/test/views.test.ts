// What the views answer, what writes do, the bounds, and what the storage is asked.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { type Admin, createAdmin, fail, generateId, MemoryStorage, Queue } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import type {
  ActionResult,
  BulkPreview,
  BulkState,
  JobPageData,
  JobsPage,
  LimitsPage,
  Overview,
  WorkersPage,
} from '../src/shared/api.ts'
import { open } from './client.ts'

/** A dashboard on a storage with a queue `mail`: `good` has completed, `bad-1` and `bad-2` have failed. */
async function bench(t: TestContext, options: Parameters<typeof open>[0] = {}) {
  const opened = open(options)
  const { storage, client } = opened
  const mail = new Queue<unknown, unknown>({
    storage,
    name: 'mail',
    maxAttempts: 1,
    concurrency: 10,
    workerId: 'mailer',
  })
  mail.execute((job) => {
    job.log('begun', { of: job.id })
    return String(job.payload).startsWith('bad')
      ? fail(`cannot send ${String(job.payload)}\nsecond line`)
      : { sent: job.payload }
  })
  await mail.start()
  t.after(async () => {
    await mail.stop({ graceMs: 0 })
    await client.dashboard.close()
  })
  for (const id of ['good', 'bad-1', 'bad-2']) {
    await mail.enqueueAndWait(id, id, { search: { customer: `of ${id}` } }).catch(() => {})
  }
  return { ...opened, mail }
}

const ids = ({ items }: JobsPage): string[] => items.map(({ id }) => id).toSorted()
const list = (q: string, more = ''): string => `jobs?q=${encodeURIComponent(q)}${more}`
const jobPath = (id: string, name = 'mail'): string => `job?${new URLSearchParams({ face: 'queue', name, id })}`
const job = (id: string, name = 'mail') => ({ face: 'queue', name, id })

test('overview: totals, types by what needs attention, workers', async (t) => {
  const { client, queue, mail } = await bench(t)
  const waiting = queue('waiting')
  await waiting.enqueue('w', 1)
  await mail.pause({ by: 'bob' })
  const { totals, types } = await client.view<Overview>('overview')
  assert.deepEqual([totals!.states.failed, totals!.states.completed, totals!.due, totals!.paused], [2, 1, 1, 1])
  assert.deepEqual(
    types.map(({ name, attention, workers }) => [name, attention, workers]),
    [
      ['waiting', ['no_worker'], 0],
      ['mail', ['failed', 'paused'], 1],
    ],
  )
  await waiting.stop()
})

test('jobs: by state, type, search field, age and id, page by page, with the first line of the error', async (t) => {
  const { client } = await bench(t)
  const view = (q: string, more?: string): Promise<JobsPage> => client.view<JobsPage>(list(q, more))
  assert.deepEqual(ids(await view('')), ['bad-1', 'bad-2', 'good'])
  assert.deepEqual(ids(await view('state:failed type:mail face:queue')), ['bad-1', 'bad-2'])
  assert.deepEqual(ids(await view('type:none')), [])
  assert.deepEqual(ids(await view('customer:"of good"')), ['good'])
  assert.deepEqual(ids(await view('age<1h')), ['bad-1', 'bad-2', 'good'])
  assert.deepEqual(ids(await view('age>1h')), [])
  assert.deepEqual(ids(await view('bad-1')), ['bad-1'])
  assert.deepEqual(ids(await view('id:bad-1 id:good type:mail')), ['bad-1', 'good'])
  assert.deepEqual(ids(await view('id:bad-1 state:completed')), [])
  const { items } = await view('state:failed')
  assert.match(items[0]!.errorLine!, /cannot send bad-\d$/)
  const first = await view('', '&limit=2')
  const second = await view('', `&limit=2&sort=${first.sort}&cursor=${encodeURIComponent(first.nextCursor!)}`)
  assert.deepEqual([...ids(first), ...ids(second)].toSorted(), ['bad-1', 'bad-2', 'good'])
  assert.deepEqual(first.types, [{ face: 'queue', name: 'mail' }])
})

test('job: everything of it with viewPayload, and without it neither payload, result, progress nor log', async (t) => {
  const { client, storage } = await bench(t)
  const whole = await client.view<JobPageData>(jobPath('good'))
  assert.equal(whole.parts?.payload?.text, '"good"')
  assert.deepEqual(JSON.parse(whole.parts!.result!.text), { sent: 'good' })
  assert.deepEqual(whole.parts?.log.lines[0]?.fields, { of: 'good' })
  const viewer = open({ storage, authorize: () => ({ actor: 'bob' }) })
  const less = await viewer.client.view<JobPageData>(jobPath('good'))
  assert.equal(less.parts, undefined)
  assert.doesNotMatch(JSON.stringify({ ...less, id: '', search: {} }), /good/)
  assert.equal((await client.send(`/api/${jobPath('none')}`)).status, 404)
  await viewer.client.dashboard.close()
})

test('why a job is where it is stands on top of it; a handle that was given is not closed', async (t) => {
  const { storage } = await bench(t)
  const admin = createAdmin({ storage })
  const { client } = open({ admin })
  const { reasons } = await client.view<JobPageData>(jobPath('good'))
  assert.match(reasons[0]!, /^completed at \d\d:\d\d:\d\d$/)
  await client.dashboard.close()
  assert.equal((await admin.types()).length, 1)
  await admin.close()
})

test('workers, schedules and limits', async (t) => {
  const { client, mail } = await bench(t)
  const { workers } = await client.view<WorkersPage>('workers')
  assert.deepEqual([workers[0]?.label, workers[0]?.concurrency, workers[0]?.isAlone], ['mailer', 10, true])
  await mail.schedules.put('hourly', { everyMs: 3_600_000, payload: 'x' })
  const target = { face: 'queue', owner: 'mail', name: 'hourly' }
  const shown = async () =>
    (await client.view<{ schedules: { name: string; next: unknown[]; paused?: { by: string } }[] }>('schedules'))
      .schedules
  assert.equal((await shown())[0]?.next.length, 5)
  assert.equal((await client.post('schedules/pause', target)).status, 200)
  assert.equal((await shown())[0]?.paused?.by, 'ada')
  assert.equal((await client.post('schedules/resume', target)).status, 200)
  assert.equal((await client.post<{ status: string }>('schedules/fire', target)).body.status, 'fired')
  assert.equal((await client.post('schedules/fire', { ...target, name: 'none' })).status, 404)
  assert.equal((await client.post('schedules/pause', { ...target, name: 'none' })).status, 404)

  const type = { face: 'queue', name: 'mail' }
  const limits = async () => (await client.view<LimitsPage>('limits')).types[0]
  assert.equal(
    (await client.post('limits/set', { ...type, limits: { concurrency: 3, maxWaiting: 'Infinity' } })).status,
    200,
  )
  const set = await limits()
  assert.deepEqual([set?.effective.concurrency, set?.override?.by, set?.effective.maxWaiting], [3, 'ada', 'Infinity'])
  assert.equal((await client.post('limits/set', { ...type, limits: { concurrency: -1 } })).status, 400)
  assert.equal((await client.post('limits/set', { ...type, limits: {} })).status, 400)
  assert.equal((await client.post('limits/clear', type)).status, 200)
  assert.equal((await limits())?.override, undefined)
})

test('writes to jobs say what became of each, and are one line in the log with the actor', async (t) => {
  const { client, lines, queue } = await bench(t)
  const later = queue('later')
  await later.enqueue('l', 1, { delayMs: 3_600_000 })
  const post = async (path: string, jobs: unknown[]) =>
    (await client.post<ActionResult>(path, { jobs })).body.results.map(({ status }) => status)
  assert.deepEqual(await post('jobs/retry', [job('bad-1'), job('good'), job('none')]), [
    'retried',
    'not_retryable',
    'not_found',
  ])
  const { actor, count, of } = lines.at(-1)!.data
  assert.deepEqual([actor, count, of], ['ada', 1, 3])
  assert.deepEqual(await post('jobs/run-now', [job('l', 'later')]), ['rescheduled'])
  assert.deepEqual(await post('jobs/cancel', [job('l', 'later')]), ['cancelled'])
  assert.deepEqual(await post('jobs/remove', [job('good'), job('l', 'later')]), ['removed', 'removed'])
  assert.ok(lines.every(({ level, data }) => level === 'info' && data.actor === 'ada'))
  await later.stop()
})

test('a pause names the actor', async (t) => {
  const { client, mail } = await bench(t)
  assert.equal((await client.post('types/pause', { face: 'queue', name: 'mail' })).status, 200)
  assert.equal((await mail.counts()).paused?.by, 'ada')
  assert.equal((await client.post('types/resume', { face: 'queue', name: 'mail' })).status, 200)
  assert.equal((await mail.counts()).paused, undefined)
})

test('bulk: the count before, the progress, the result, and the lines in the log', async (t) => {
  const { client, lines, queue } = await bench(t)
  const many = queue('many')
  for (let n = 0; n < 30; n++) await many.enqueue(`m${n}`, n, { search: { n } })
  const preview = (action: string, q: string): Promise<BulkPreview> =>
    client.view<BulkPreview>(`bulk/preview?action=${action}&q=${encodeURIComponent(q)}`)
  assert.deepEqual(await preview('cancel', 'type:many'), { count: 30, isExact: true })
  assert.deepEqual(await preview('cancel', 'type:many n<10'), { count: 10, isExact: true })
  assert.deepEqual(await preview('retry', 'type:many'), { count: 0, isExact: true })
  assert.deepEqual(await preview('retry', 'state:failed'), { count: 2, isExact: true })
  const { body } = await client.post<BulkState>('bulk/cancel', { q: 'type:many n<10' })
  let state = body
  while (state.isRunning) state = await client.view<BulkState>(`bulk?id=${state.id}`)
  assert.deepEqual([state.done, state.skipped, state.failed], [10, 0, 0])
  assert.equal((await many.counts()).states.cancelled, 10)
  const said = lines.map(({ message }) => message)
  assert.deepEqual(said, [
    "dashboard: ada began cancel of all that match 'type:many n<10'",
    "dashboard: ada ended cancel of all that match 'type:many n<10': 10 of 10 changed",
  ])
  assert.equal((await client.post('bulk/cancel', { q: 'state:completed' })).status, 400)
  assert.equal((await client.post('bulk/remove', { q: 'an-id' })).status, 400)
  assert.equal((await client.post('bulk/stop', { id: 'none' })).status, 404)
  assert.equal((await client.post<BulkState>('bulk/stop', { id: state.id })).body.done, 10)
  await many.stop()
})

test('[F43] bounds: the page, the list of a write, the body, the payload that is shown', async (t) => {
  const { client, queue } = await bench(t)
  for (const limit of ['0', '201', '1.5', 'x', '-1']) {
    assert.equal((await client.send(`/api/jobs?limit=${limit}`)).status, 400, limit)
  }
  assert.equal((await client.send('/api/jobs?limit=200')).status, 200)
  assert.equal(
    (await client.post('jobs/retry', { jobs: Array.from({ length: 201 }, (_, n) => job(`x${n}`)) })).status,
    400,
  )
  assert.equal((await client.post('jobs/retry', { jobs: [] })).status, 400)
  assert.equal((await client.post('jobs/retry', { jobs: [], pad: 'x'.repeat(300_000) })).status, 413)
  const large = queue('large')
  await large.enqueue('l', { text: 'é'.repeat(400_000) })
  const { parts } = await client.view<JobPageData>(jobPath('l', 'large'))
  assert.ok(Buffer.byteLength(parts!.payload!.text) <= 262_144)
  assert.ok(parts!.payload!.cutFrom! > 800_000)
  await large.stop()
})

test('values that JSON has no word for are shown', async (t) => {
  const { client, queue } = await bench(t)
  const odd = queue('odd')
  await odd.enqueue('o', {
    big: 12n,
    when: new Date(0),
    map: new Map([['a', 1]]),
    set: new Set([1]),
    bytes: new Uint8Array([1, 2]),
  })
  const { parts } = await client.view<JobPageData>(jobPath('o', 'odd'))
  assert.deepEqual(JSON.parse(parts!.payload!.text), {
    big: '12n',
    when: '1970-01-01T00:00:00.000Z',
    map: { Map: [['a', 1]] },
    set: { Set: [1] },
    bytes: { base64: 'AQI=' },
  })
  await odd.stop()
})

/** The calls of `types()`, which is one `count` of the storage. */
function counted(storage: MemoryStorage, clock: ReturnType<typeof fakeClock>) {
  const admin = createAdmin({ storage, clock })
  const calls = { types: 0 }
  const types = admin.types.bind(admin)
  const wrapped: Admin = Object.assign(admin, { types: () => (calls.types++, types()) })
  return { admin: wrapped, calls }
}

test('[F43] one count in 5 s, however many viewers look at whatever', async () => {
  const clock = fakeClock()
  const { admin, calls } = counted(new MemoryStorage({ clock }), clock)
  const { client } = open({ admin, clock })
  const look = () =>
    Promise.all(
      ['overview', 'summary', 'jobs', 'workers', 'limits', list('type:x')].flatMap((path) =>
        Array.from({ length: 10 }, () => client.view(path)),
      ),
    )
  await look()
  await look()
  assert.equal(calls.types, 1)
  await clock.advance(5_000)
  await look()
  assert.equal(calls.types, 2)
  await client.dashboard.close()
  await admin.close()
})

test('the stream of a page: an answer, its changes at most once per second, and its end', async () => {
  const clock = fakeClock()
  const storage = new MemoryStorage({ clock })
  const { admin, calls } = counted(storage, clock)
  const { client } = open({ admin, clock })
  const gone = new AbortController()
  const request = new Request('http://jobs.example/api/stream?of=summary&of=jobs%3Fq%3Dstate%3Aqueued', {
    signal: gone.signal,
  })
  const response = await client.dashboard(request)
  assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  const events: string[] = []
  const ended = follow(response, events)
  const until = async (event: string): Promise<void> => {
    while (!events.includes(event)) await clock.advance(1_000)
  }
  await until('answer summary')
  await until('answer jobs?q=state:queued')
  const queue = new Queue<number>({ storage, name: 'mail', clock })
  await queue.enqueue('a', 1)
  events.length = 0
  const [from, before] = [clock.now(), calls.types]
  await until('answer summary')
  await until('answer jobs?q=state:queued')
  const seconds = (clock.now() - from) / 1_000
  assert.ok(calls.types - before <= seconds / 5 + 1, `${calls.types - before} counts in ${seconds} s`)
  assert.ok(events.length <= 2 * (seconds + 1), `${events.length} events in ${seconds} s`)
  gone.abort()
  await ended
  await client.dashboard.close()
  await admin.close()
  await queue.stop()
})

/** Collects the events of a stream: kind and view. Resolves at its end. */
async function follow(response: Response, events: string[]): Promise<void> {
  for await (const chunk of response.body!) {
    const [, event, data] = /^event: (\w+)\ndata: (.*)\n\n$/.exec(Buffer.from(chunk).toString())!
    events.push(`${event} ${(JSON.parse(data!) as { of: string }).of}`)
  }
}

test('a stream of nothing, of too much or of what does not exist is refused', async () => {
  const { client } = open()
  for (const query of [
    '',
    'of=none',
    'of=session',
    'of=jobs/retry',
    'of=a&of=b&of=c&of=d&of=e',
    `of=${'summary&of='.repeat(5)}summary`,
  ]) {
    assert.equal((await client.send(`/api/stream?${query}`)).status, 400, query)
  }
  await client.dashboard.close()
})

test('hostile ids and names come back as they are', async (t) => {
  const { client, storage } = await bench(t)
  const hostile = [
    '<img src=x onerror=alert(1)>',
    '</script><script>',
    '../../x',
    '__proto__',
    "'; --",
    '\u202eabc',
    '%00%2e',
    'a b"c\\d',
  ]
  for (const text of hostile) {
    const queue = new Queue<string>({ storage, name: text })
    await queue.enqueue(text, text)
    const shown = await client.view<JobPageData>(jobPath(text, text))
    assert.deepEqual([shown.id, shown.name, shown.parts?.payload?.text], [text, text, JSON.stringify(text)])
    await queue.stop()
  }
})

test('200 random requests: none is a 500', async (t) => {
  const { client, lines } = await bench(t)
  await client.view('session')
  // The same on every run.
  let seed = 20_261_117
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((seed / 2 ** 32) * below)
  }
  const pick = <T>(from: readonly T[]): T => from[random(from.length)]!
  const words = [
    '',
    'mail',
    'good',
    '"',
    '\\',
    '%',
    '%zz',
    '\u0000',
    '\ud800',
    '../',
    'state:failed',
    'age>',
    '🙂',
    'x'.repeat(5_000),
    '-1',
    '1e9',
    'null',
    '[]',
    '{"a":1}',
    generateId(),
  ]
  const paths = [
    'session',
    'summary',
    'overview',
    'jobs',
    'job',
    'schedules',
    'workers',
    'limits',
    'bulk',
    'bulk/preview',
    'stream',
    'jobs/retry',
    'jobs/cancel',
    'jobs/remove',
    'jobs/run-now',
    'bulk/cancel',
    'bulk/stop',
    'types/pause',
    'limits/set',
    'limits/clear',
    'schedules/fire',
    'none',
    '..',
    '%2e%2e/x',
  ]
  const keys = [
    'q',
    'cursor',
    'sort',
    'limit',
    'face',
    'name',
    'id',
    'action',
    'of',
    'jobs',
    'owner',
    'limits',
    'group',
    'abort',
    '__proto__',
  ]
  const value = (depth = 0): unknown =>
    pick<() => unknown>([
      () => pick(words),
      () => random(1_000) - 500,
      () => null,
      () => true,
      () => (depth > 2 ? [] : [value(depth + 1)]),
      () =>
        depth > 2
          ? {}
          : { face: value(depth + 1), name: value(depth + 1), id: value(depth + 1), concurrency: value(depth + 1) },
    ])()
  for (let n = 0; n < 200; n++) {
    const path = pick(paths)
    const query = new URLSearchParams(
      Array.from({ length: random(4) }, () => [pick(keys), pick(words)] as [string, string]),
    )
    const method = pick(['GET', 'POST', 'POST', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'])
    const body = Object.fromEntries(Array.from({ length: random(5) }, () => [pick(keys), value()]))
    const reply =
      method === 'POST'
        ? await client.post(`${path}?${query}`, random(5) === 0 ? value() : body)
        : await client.send(`/api/${path}?${query}`, { method })
    assert.ok(reply.status !== 500, `${method} ${path}?${query} ${JSON.stringify(body)}: ${JSON.stringify(reply.body)}`)
    if (reply.status >= 400 && method !== 'HEAD') assert.match((reply.body as { error: string }).error, /\S/)
  }
  assert.deepEqual(
    lines.filter(({ level }) => level === 'error').map(({ data }) => String(data.err)),
    [],
  )
})
