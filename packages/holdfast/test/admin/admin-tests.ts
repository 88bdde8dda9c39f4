// The admin handle, the same on every driver.

import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { type Admin, type BulkAction, createAdmin, fail, Queue, type QueueConfig } from 'holdfast'
import { createClient, createInProcessWorker, defineJobTypes } from 'holdfast/chains'
import { type TestDriver, until } from '../queue/driver.ts'
import { insightTests } from './insight-tests.ts'

const lines = (): { readonly logged: [object, string][]; info(data: object, message: string): void } => {
  const logged: [object, string][] = []
  return { logged, info: (data, message) => void logged.push([data, message]) }
}

async function adminBench(t: TestContext, driver: TestDriver) {
  const { storage, close } = await driver.open()
  const queues: Queue<number, number>[] = []
  const logger = lines()
  const admin: Admin = createAdmin({ storage, logger, by: 'ada' })
  t.after(async () => {
    await Promise.all(queues.map((queue) => queue.stop({ graceMs: 0 })))
    await admin.close()
    await close()
  })
  const queue = (name: string, config: Partial<QueueConfig<number, number>> = {}): Queue<number, number> => {
    const made = new Queue<number, number>({ storage, name, maxAttempts: 1, concurrency: 10, ...config })
    queues.push(made)
    return made
  }
  /** Jobs of a queue that failed. */
  const failed = async (name: string, count: number): Promise<void> => {
    const worker = queue(name)
    worker.execute(({ payload }) => (payload < 0 ? fail('below zero') : payload))
    for (let n = 1; n <= count; n++) await worker.enqueue(`${name}${n}`, -n)
    await worker.start()
    await until(async () => (await worker.counts()).states.failed === count)
  }
  return { storage, admin, logger, queue, failed }
}

const tally = async (action: BulkAction) => {
  const { total, matched, done, skipped, failed } = await action.result
  return { total, matched, done, skipped, failed }
}

const utf8 = (text: string): Uint8Array => Buffer.from(text)

/** Writes these bytes, whatever the value. */
const serde = (bytes: Uint8Array) => ({ serialize: () => bytes, deserialize: () => 0 })

const ids = (page: { readonly items: readonly { readonly id: string }[] }): string[] =>
  page.items.map(({ id }) => id).toSorted()

export function adminTests(driver: TestDriver): void {
  describe(`${driver.name}: admin`, () => {
    insightTests(driver)

    test('sweep deletes what has expired, and nothing else', async (t) => {
      const { admin, queue, logger } = await adminBench(t, driver)
      const [brief, lasting] = [queue('brief', { resultTTL: 1 }), queue('lasting')]
      for (const each of [brief, lasting]) {
        each.execute(({ payload }) => payload)
        await each.start()
        await each.enqueue('a', 1)
      }
      await until(async () => (await lasting.counts()).states.completed === 1)
      let jobs = 0
      await until(async () => (jobs += (await admin.sweep()).jobs) > 0)
      assert.equal(jobs, 1)
      assert.deepEqual((await admin.sweep()).jobs, 0)
      assert.equal((await lasting.get('a'))?.state, 'completed')
      assert.ok(logger.logged.some(([data, message]) => message.endsWith('swept') && 'by' in data))
    })

    test('types: each with its face, name, counts and pauses', async (t) => {
      const { admin, queue } = await adminBench(t, driver)
      await queue('mail').enqueue('a', 1)
      await queue('later').enqueue('b', 1, { delayMs: 60_000 })
      await queue('pushes', { face: 'other' }).enqueue('c', 1)
      await admin.pause({ face: 'queue', name: 'later' })
      const types = (await admin.types()).toSorted((a, b) => (a.name < b.name ? -1 : 1))
      assert.deepEqual(
        types.map(({ face, name, due, delayed, paused }) => [face, name, due, delayed, paused?.by]),
        [
          ['queue', 'later', 0, 1, 'ada'],
          ['queue', 'mail', 1, 0, undefined],
          ['other', 'pushes', 1, 0, undefined],
        ],
      )
    })

    test('jobs.list: by face, name, types, state', async (t) => {
      const { admin, queue, failed } = await adminBench(t, driver)
      await failed('bad', 2)
      await queue('mail').enqueue('m1', 1)
      await queue('mail', { face: 'other' }).enqueue('o1', 1)
      const { list } = admin.jobs
      assert.deepEqual(ids(await list()), ['bad1', 'bad2', 'm1', 'o1'])
      assert.deepEqual(ids(await list({ face: 'queue' })), ['bad1', 'bad2', 'm1'])
      assert.deepEqual(ids(await list({ name: 'mail' })), ['m1', 'o1'])
      assert.deepEqual(ids(await list({ face: 'other', name: 'mail' })), ['o1'])
      assert.deepEqual(ids(await list({ face: 'unknown' })), [])
      assert.deepEqual(ids(await list({ states: ['failed'] })), ['bad1', 'bad2'])
      const types = [
        { face: 'other', name: 'mail' },
        { face: 'queue', name: 'bad' },
      ]
      assert.deepEqual(ids(await list({ types, order: 'asc' })), ['bad1', 'bad2', 'o1'])
      assert.deepEqual(ids(await list({ types, face: 'other' })), ['o1'])
      await assert.rejects(list({ face: 'No Face' }), { code: 'INVALID_ARGUMENT' })
      await assert.rejects(list({ kind: 'queue' } as never), { code: 'INVALID_ARGUMENT' })
    })

    test('jobs.list with order place keeps the order of the storage, also between instants; maxMs ends a page early', async (t) => {
      const { admin, queue } = await adminBench(t, driver)
      const mail = queue('mail')
      for (let n = 1; n <= 5; n++) await mail.enqueue(`m${n}`, n)
      const [from, to] = [Date.now() - 60_000, Date.now() + 60_000]
      const all = ['m1', 'm2', 'm3', 'm4', 'm5']
      assert.deepEqual(ids(await admin.jobs.list({ order: 'place' })), all)
      assert.deepEqual(ids(await admin.jobs.list({ order: 'place', createdFrom: from, createdTo: to })), all)
      assert.deepEqual(ids(await admin.jobs.list({ order: 'place', createdTo: from })), [])
      // At least one part is looked at, so that pages go on.
      const seen: string[] = []
      for (let cursor: string | undefined, pages = 0; pages < 100; pages++) {
        const page: Awaited<ReturnType<Admin['jobs']['list']>> = await admin.jobs.list({
          order: 'place',
          maxMs: 0,
          limit: 2,
          cursor,
        })
        seen.push(...page.items.map(({ id }) => id))
        cursor = page.nextCursor
        if (cursor === undefined) break
      }
      assert.deepEqual(seen.toSorted(), all)
      await assert.rejects(admin.jobs.list({ order: 'random' as 'asc' }), TypeError)
    })

    test('jobs.find: those that exist, in their order', async (t) => {
      const { admin, queue, failed } = await adminBench(t, driver)
      await failed('broken', 1)
      await queue('mail').enqueue('m1', 1)
      const found = await admin.jobs.find([
        { face: 'queue', name: 'mail', id: 'm1' },
        { face: 'queue', name: 'mail', id: 'none' },
        { face: 'queue', name: 'none', id: 'm1' },
        { face: 'queue', name: 'broken', id: 'broken1' },
      ])
      assert.deepEqual(
        found.map(({ name, id, state, error }) => [name, id, state, error?.message]),
        [
          ['mail', 'm1', 'queued', undefined],
          ['broken', 'broken1', 'failed', 'below zero'],
        ],
      )
      assert.deepEqual(await admin.jobs.find([]), [])
    })

    test('jobs.list by search fields', async (t) => {
      const { admin, storage } = await adminBench(t, driver)
      await storage.connect()
      const retention = { completedMs: 1e6, failedMs: 1e6, cancelledMs: 1e6 }
      await storage.add(
        [1, 2, 3].map((total) => ({
          type: 'queue.orders',
          id: `o${total}`,
          token: `t${total}`,
          retention,
          search: { customer: 'c', total },
        })),
      )
      const where = { customer: 'c', total: { gte: 2 } }
      const page = await admin.jobs.list({ name: 'orders', where })
      assert.deepEqual(ids(page), ['o2', 'o3'])
      assert.deepEqual(page.items.find(({ id }) => id === 'o2')!.search, { customer: 'c', total: 2 })
      await storage.disconnect()
    })

    test('jobs.get: values decoded, bytes of another serde as they are, errors and attempts', async (t) => {
      const { admin, queue, failed } = await adminBench(t, driver)
      await failed('bad', 1)
      const bad = (await admin.jobs.get({ face: 'queue', name: 'bad', id: 'bad1' }))!
      assert.equal(bad.payload, -1)
      assert.equal(bad.error!.message, 'below zero')
      assert.deepEqual(
        bad.history.map(({ attempt, outcome, error }) => [attempt, outcome, error!.message]),
        [[1, 'failed', 'below zero']],
      )
      assert.deepEqual([bad.state, bad.attempts, bad.log.lines, bad.blockers], ['failed', 1, [], []])
      const good = queue('good')
      good.execute(() => new Date(0) as never)
      await good.start()
      await good.enqueueAndWait('g', 1)
      const { result } = (await admin.jobs.get({ face: 'queue', name: 'good', id: 'g' }))!
      assert.deepEqual(result, new Date(0))
      await queue('text', { payloadSerde: serde(Buffer.from('plain: text')) }).enqueue('t', 1)
      await queue('bytes', { payloadSerde: serde(Uint8Array.of(255, 0, 254)) }).enqueue('b', 1)
      for (const [name, id, bytes] of [
        ['text', 't', Buffer.from('plain: text')],
        ['bytes', 'b', Buffer.of(255, 0, 254)],
      ] as const) {
        const { payload, undecodable } = (await admin.jobs.get({ face: 'queue', name, id }))!
        assert.deepEqual([payload, Buffer.from(undecodable!.payload!.bytes)], [undefined, bytes])
        assert.ok(undecodable!.payload!.reason.length > 0)
      }
      assert.equal(await admin.jobs.get({ face: 'queue', name: 'bad', id: 'none' }), null)
    })

    test('[F27] jobs.get: progress and log lines of a running job', async (t) => {
      const { admin, queue, storage } = await adminBench(t, driver)
      await queue('long').enqueue('a', 1)
      const types = [{ type: 'queue.long', leaseMs: 60_000 }]
      const { jobs } = await storage.claim({ worker: 'w', label: 'w', slots: 1, types })
      const { type, id, worker, attempt } = jobs[0]!
      const log = [
        { at: 5, line: utf8('{"text":"half","fields":{"percent":50}}') },
        { at: 6, line: utf8('{"text":"done"}') },
        { at: 7, line: utf8('no JSON') },
      ]
      await storage.extend([{ type, id, worker, attempt, leaseMs: 60_000, progress: utf8('0.5'), log }])
      const details = (await admin.jobs.get({ face: 'queue', name: 'long', id: 'a' }))!
      assert.equal(details.progress, 0.5)
      assert.deepEqual(details.log.lines, [
        { number: 1, attempt: 1, at: 5, text: 'half', fields: { percent: 50 } },
        { number: 2, attempt: 1, at: 6, text: 'done' },
        { number: 3, attempt: 1, at: 7, text: 'no JSON' },
      ])
      assert.deepEqual([details.workerId, details.state, details.log.dropped], ['w', 'processing', 0])
      assert.ok(details.leaseUntil! > details.startedAt!)
    })

    test('jobs.retry, cancel, reschedule, runNow, remove: what each answers, one line in the log for each', async (t) => {
      const { admin, queue, failed, logger } = await adminBench(t, driver)
      await failed('bad', 3)
      const { items } = await admin.jobs.list({ name: 'bad' })
      await queue('bad').pause()
      assert.deepEqual(await admin.jobs.retry(items[0]!), { status: 'retried' })
      assert.deepEqual(await admin.jobs.retry(items), [
        { status: 'not_retryable' },
        { status: 'retried' },
        { status: 'retried' },
      ])
      const job = { face: 'queue', name: 'bad', id: items[0]!.id }
      const runAt = Date.now() + 3_600_000
      assert.deepEqual(await admin.jobs.reschedule(job, { runAt: new Date(runAt) }), { status: 'rescheduled' })
      assert.equal((await admin.jobs.get(job))!.runAt, runAt)
      assert.equal((await admin.jobs.get(job))!.state, 'scheduled')
      assert.deepEqual(await admin.jobs.runNow(job), { status: 'rescheduled' })
      assert.equal((await admin.jobs.get(job))!.state, 'queued')
      assert.deepEqual(await admin.jobs.remove(job), { status: 'not_terminal' })
      assert.deepEqual(await admin.jobs.cancel(job, { reason: 'a mistake' }), { status: 'cancelled' })
      assert.deepEqual(await admin.jobs.runNow(job), { status: 'not_waiting', state: 'cancelled' })
      assert.equal((await admin.jobs.get(job))!.cancelReason, 'a mistake')
      assert.deepEqual(await admin.jobs.remove(job), { status: 'removed' })
      assert.deepEqual(await admin.jobs.remove(job), { status: 'not_found' })
      await assert.rejects(admin.jobs.reschedule(job, {}), { code: 'INVALID_ARGUMENT' })
      await assert.rejects(admin.jobs.get({ face: 'queue', name: 'bad', id: '' }), { code: 'INVALID_ARGUMENT' })
      const said = logger.logged.map(([, message]) => message)
      const { id } = job
      assert.deepEqual(said, [
        `admin: retried 1 of 1 job ('${id}')`,
        'admin: retried 2 of 3 jobs',
        `admin: moved 1 of 1 job ('${id}')`,
        `admin: moved 1 of 1 job ('${id}')`,
        `admin: removed 0 of 1 job ('${id}')`,
        `admin: cancelled 1 of 1 job ('${id}')`,
        `admin: moved 0 of 1 job ('${id}')`,
        `admin: removed 1 of 1 job ('${id}')`,
        `admin: removed 0 of 1 job ('${id}')`,
      ])
      assert.ok(logger.logged.every(([data]) => (data as { by?: unknown }).by === 'ada'))
    })

    test('[F26] pause and resume of a group: the group stands still, the others run', async (t) => {
      const { admin, queue, storage } = await adminBench(t, driver)
      await storage.connect()
      const retention = { completedMs: 1e6, failedMs: 1e6, cancelledMs: 1e6 }
      await storage.add(
        ['a', 'b'].map((key) => ({
          type: 'queue.grouped',
          id: key,
          token: key,
          payload: Buffer.from('1'),
          group: { key, ordered: true as const },
          retention,
        })),
      )
      const target = { face: 'queue', name: 'grouped' }
      await admin.pause({ ...target, group: 'a' }, { by: 'grace' })
      const [type] = await admin.types()
      assert.deepEqual(
        type!.pausedGroups.map(({ group, by }) => [group, by]),
        [['a', 'grace']],
      )
      const worker = queue('grouped')
      worker.execute(({ payload }) => payload)
      await worker.start()
      await until(async () => (await worker.counts()).states.completed === 1)
      assert.equal((await worker.getStatus('a'))!.state, 'queued')
      await admin.resume({ ...target, group: 'a' })
      await until(async () => (await worker.counts()).states.completed === 2)
      await storage.disconnect()
    })

    test('[F31] bulk actions by filter: retry, cancel, remove; and by refs', async (t) => {
      const { admin, queue, failed, logger } = await adminBench(t, driver)
      await failed('bad', 4)
      await queue('bad').pause()
      const { items } = await admin.jobs.list({ name: 'bad' })
      assert.deepEqual(await tally(admin.bulk.retry(items.slice(0, 1))), {
        total: 1,
        matched: 1,
        done: 1,
        skipped: 0,
        failed: 0,
      })
      assert.deepEqual(await tally(admin.bulk.retry([...items, { face: 'queue', name: 'bad', id: 'none' }])), {
        total: 5,
        matched: 5,
        done: 3,
        skipped: 2,
        failed: 0,
      })
      assert.deepEqual(await tally(admin.bulk.cancel({ name: 'bad' }, { reason: 'all' })), {
        total: 4,
        matched: 4,
        done: 4,
        skipped: 0,
        failed: 0,
      })
      await queue('safe').enqueue('s', 1)
      assert.deepEqual(await tally(admin.bulk.remove({ face: 'queue' })), {
        total: 4,
        matched: 4,
        done: 4,
        skipped: 0,
        failed: 0,
      })
      assert.deepEqual(ids(await admin.jobs.list()), ['s'])
      const said = logger.logged.map(([, message]) => message)
      assert.deepEqual(said, [
        'admin: retry ended: 1 of 1 jobs done, 0 skipped, 0 failed',
        'admin: retry ended: 3 of 5 jobs done, 2 skipped, 0 failed',
        'admin: cancel ended: 4 of 4 jobs done, 0 skipped, 0 failed',
        'admin: remove ended: 4 of 4 jobs done, 0 skipped, 0 failed',
      ])
      assert.throws(() => admin.redrive({ states: ['completed'] } as never), { code: 'INVALID_ARGUMENT' })
    })

    test('a job inside a chain stands for its chain when it is removed', async (t) => {
      const { admin, storage } = await adminBench(t, driver)
      const jobTypeRegistry = defineJobTypes<{
        first: { entry: true; input: null; continueWith: { typeName: 'second' } }
        second: { input: null; output: string }
      }>()
      const client = await createClient({ storage, jobTypeRegistry })
      const worker = await createInProcessWorker({
        storage,
        jobTypeRegistry,
        jobTypeProcessors: {
          first: {
            process: ({ complete }) =>
              complete(({ continueWith }) => continueWith({ typeName: 'second', input: null })),
          },
          second: { process: ({ complete }) => complete(() => 'done') },
        },
      })
      await worker.start()
      t.after(() => worker.stop())
      const chain = await client.startJobChain({ typeName: 'first', input: null })
      await client.waitForJobChainCompletion(chain, { timeoutMs: 10_000 })
      const { items } = await admin.jobs.list({ name: 'second' })
      assert.deepEqual(items[0]!.chain, { face: 'chain', name: 'first', id: chain.id })
      assert.deepEqual(await admin.jobs.remove(items[0]!), { status: 'removed' })
      assert.deepEqual(ids(await admin.jobs.list()), [])
    })

    test('[F34] workers of every face', async (t) => {
      const { admin, queue } = await adminBench(t, driver)
      const one = queue('one', { workerId: 'w1' })
      one.execute(() => 1)
      await one.start()
      await until(async () => (await admin.workers()).length === 1)
      assert.deepEqual((await admin.workers())[0]!.types, [{ face: 'queue', name: 'one' }])
    })

    test('[F38] events: of all types or some, in order, until the signal; it says whose they are', async (t) => {
      const { admin, queue, storage } = await adminBench(t, driver)
      const worker = queue('seen', { workerId: 'w' })
      worker.execute(({ payload }) => payload)
      await worker.start()
      await worker.enqueueAndWait('before', 1)
      const stop = new AbortController()
      const all = admin.events({ signal: stop.signal })
      const others = admin.events({ types: [{ face: 'queue', name: 'unseen' }], signal: stop.signal })
      assert.equal(all.scope, storage.features.fleetEvents ? 'fleet' : 'process')
      await Promise.all([all.ready, others.ready])
      await queue('seen').enqueueAndWait('a', 1)
      const seen: unknown[] = []
      for await (const entry of all) {
        if (entry.event === 'gap') continue
        seen.push([entry.face, entry.name, entry.event, entry.id, entry.workerId])
        if (entry.event === 'completed') break
      }
      assert.deepEqual(seen, [
        ['queue', 'seen', 'queued', 'a', undefined],
        ['queue', 'seen', 'processing', 'a', 'w'],
        ['queue', 'seen', 'completed', 'a', 'w'],
      ])
      stop.abort()
      const unseen: unknown[] = []
      for await (const entry of others) unseen.push(entry)
      assert.deepEqual(unseen, [])
    })

    test('counters count events since the first call', async (t) => {
      const { admin, queue } = await adminBench(t, driver)
      const worker = queue('counted')
      worker.execute(({ payload }) => payload)
      await worker.start()
      await worker.enqueueAndWait('before', 1)
      assert.deepEqual((await admin.counters()).events, {})
      for (const id of ['a', 'b']) await worker.enqueueAndWait(id, 1)
      await until(async () => (await admin.counters()).events.completed === 2)
      assert.equal((await admin.counters()).events.queued, 2)
    })

    test('a closed handle says so; its streams have ended', async (t) => {
      const { admin } = await adminBench(t, driver)
      await admin.types()
      const stream = admin.events()
      await stream.ready
      await admin.close()
      await assert.rejects(admin.types(), { code: 'CLOSED' })
      await assert.rejects(admin.jobs.list(), { code: 'CLOSED' })
      await assert.rejects(admin.bulk.retry({}).result, { code: 'CLOSED' })
      for await (const _ of stream) assert.fail('an event after the close')
    })
  })
}
