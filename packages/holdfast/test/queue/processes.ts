// The Queue over several processes, some of which are killed or stopped. On drivers that processes can share.

import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { type JobFailedError, Queue, type QueueConfig, type QueueEvent, Reaper, type Storage } from 'holdfast'
import { type Child, startChild } from '../processes/child.ts'
import type { ProcessDriver } from '../processes/drivers.ts'
import type { Spec } from '../processes/spec.ts'
import { sleep, until } from './driver.ts'
import { of } from './stream-reading.ts'
import { defaultType } from 'holdfast/storage'

const file = new URL('fixtures/process.ts', import.meta.url)
const numbered = (prefix: string, count: number): string[] => Array.from({ length: count }, (_, n) => `${prefix}${n}`)

/** Before many begin at once, each of which would compile all of it. */
export async function compileFirst(): Promise<void> {
  const spec: Spec = { driver: 'memory', at: '', prefix: '' }
  await (
    await startChild(file, { after: () => {} }, { spec }, 'compile')
  ).exited
}

interface Bench {
  readonly storage: Storage
  queue(config?: Partial<QueueConfig<string, string>>): Queue<string, string>
  child(scene: string, settings: Readonly<Record<string, unknown>>): Promise<Child>
  /** One that may be dead before it is ready. */
  mortal(scene: string, settings: object): Promise<Child>
}

async function bench(t: TestContext, driver: ProcessDriver): Promise<Bench> {
  const place = await driver.open()
  const storage = place.storage()
  const queues: Queue<string, string>[] = []
  t.after(async () => {
    await Promise.all(queues.map((queue) => queue.stop({ timeout: 0 })))
    await place.close()
  })
  return {
    storage,
    queue(config) {
      const queue = new Queue<string, string>({ storage, backoff: 'none', ...config })
      queues.push(queue)
      return queue
    },
    async child(scene, settings) {
      const child = await startChild(file, t, place, scene, settings)
      const { threads = 1 } = settings
      await until(() => child.said.filter((line) => line === 'ready').length === threads, 'the child is ready')
      return child
    },
    mortal: (scene, settings) => startChild(file, t, place, scene, settings),
  }
}

/** Runs all there is, here; answers with how often each id ran, once these have. */
async function runAll(queue: Queue<string, string>, ids: readonly string[]): Promise<Map<string, number>> {
  const runs = new Map<string, number>()
  queue.execute(({ id, payload }) => {
    assert.equal(payload, id)
    runs.set(id, (runs.get(id) ?? 0) + 1)
    return id
  })
  await queue.start()
  await until(() => ids.every((id) => runs.has(id)), 'all have run')
  await queue.stop()
  return runs
}

interface Answer {
  readonly id: string
  readonly status: string
}

/** What a child that enqueues was told so far. */
const answersOf = ({ said }: Child): Answer[] => said.filter((line) => line !== 'ready') as Answer[]

const leads = ({ said }: Child): boolean =>
  said.findLastIndex((line) => line === 'leads') > said.findLastIndex((line) => line === 'lost')

async function leaderAmong(candidates: readonly Child[]): Promise<Child> {
  await until(() => candidates.some(leads), 'one leads')
  const [leader, second] = candidates.filter(leads)
  assert.equal(second, undefined)
  return leader!
}

export function processTests(driver: ProcessDriver): void {
  describe(`${driver.name}: several processes`, { concurrency: 4 }, () => {
    test(
      '[trap 40] [Q4.06] 3 processes of 2 threads enqueue the same 50 ids at once: one of them each, none rejects, one run each',
      // Files have theirs beside their storage, with more threads.
      { skip: driver.name === 'file' },
      async (t) => {
        const { queue, child } = await bench(t, driver)
        const ids = { prefix: 'Id:', count: 50, inFlight: 50, threads: 2 }
        const producers = await Promise.all([1, 2, 3].map(() => child('enqueue', ids)))
        for (const producer of producers) producer.send()
        await Promise.all(producers.map(({ exited }) => exited))
        const answers = producers.flatMap(answersOf)
        assert.equal(answers.length, 6 * 50)
        const queued = answers.flatMap(({ id, status }) => (status === 'queued' ? [id] : []))
        assert.deepEqual(queued.toSorted(), numbered('Id:', 50).toSorted())
        const runs = await runAll(queue({ concurrency: 50 }), numbered('Id:', 50))
        assert.deepEqual([...runs.values()], Array(50).fill(1))
      },
    )

    test('[trap 41] [Q4.09] producers killed in the middle: what was acknowledged runs once, other ids can be enqueued', async (t) => {
      const { queue, child } = await bench(t, driver)
      const acknowledged: string[] = []
      const kill = async (round: number): Promise<void> => {
        const producer = await child('enqueue', { prefix: `${round}-`, count: 1e9, inFlight: 7 })
        producer.send()
        await until(() => answersOf(producer).length > round * 30, 'some are enqueued')
        producer.signal('SIGKILL')
        await producer.exited
        acknowledged.push(...answersOf(producer).map(({ id }) => id))
      }
      await Promise.all([0, 1].map(kill))
      // Any that was under way when its process died is free, or a job that runs.
      const again = queue()
      const more = [0, 1].flatMap((round) => {
        const last = acknowledged.filter((id) => id.startsWith(`${round}-`)).length
        return numbered(`${round}-`, last + 20)
      })
      const answers = await Promise.all(more.map((id) => again.enqueue(id, id)))
      assert.ok(answers.every(({ status }) => status === 'queued' || status === 'duplicate'))
      const runs = await runAll(queue({ concurrency: 50 }), [...acknowledged, ...more])
      for (const [id, times] of runs) assert.equal(times, 1, id)
    })

    test('[trap 7] [Q4.40] a job that kills its process ends after its two attempts, and the others go on', async (t) => {
      const { queue, child, mortal } = await bench(t, driver)
      const producer = queue()
      await producer.start()
      const settings = { leaseMs: 300, concurrency: 3, maxRetries: 5, blockTimeout: 0.2 }
      const poison = assert.rejects(
        producer.enqueueAndWait('poison', 'die', { maxAttempts: 2, timeout: 60_000 }),
        (error: JobFailedError) => error.code === 'JOB_FAILED' && error.details.code === 'STALLED',
      )
      const others = numbered('good-', 5)
      const results = Promise.all(others.map((id) => producer.enqueueAndWait(id, '', { timeout: 60_000 })))
      const attempts: unknown[] = []
      const note = ({ said }: Child): void => {
        attempts.push(...(said as { began?: string; attempt?: number }[]).filter(({ began }) => began === 'poison'))
      }
      for (let death = 0; death < 2; death++) {
        const worker = await mortal('work', settings)
        await worker.exited
        note(worker)
      }
      const last = await child('work', settings)
      await poison
      assert.deepEqual(await results, others)
      note(last)
      assert.deepEqual(attempts, [
        { began: 'poison', attempt: 1 },
        { began: 'poison', attempt: 2 },
      ])
      assert.equal((await producer.getStatus('poison'))!.state, 'failed')
    })

    test('[trap 28] [Q4.38] the job of a killed worker runs although no process was connected: in a worker that starts later, or by a Reaper', async (t) => {
      const { queue, storage, child } = await bench(t, driver)
      const names = ['by a worker', 'by a Reaper']
      // The Reaper comes long before this lease is over.
      const leases = [300, 600_000]
      const producers = names.map((name) => queue({ name }))
      const workers = await Promise.all(names.map((name, n) => child('work', { name, leaseMs: leases[n] })))
      await Promise.all(producers.map((producer) => producer.enqueue('orphan', 'hang')))
      for (const worker of workers) await worker.hears(({ began }) => began === 'orphan', 'it runs')
      for (const worker of workers) worker.signal('SIGKILL')
      await Promise.all([...workers.map(({ exited }) => exited), ...producers.map((producer) => producer.stop())])
      // No process is connected until the lease and every registration have expired.
      await sleep(1_000)
      const [late, other] = names.map((name) => queue({ name, blockTimeout: 60 }))
      // On a busy machine the worker may have lost its lease before it was killed, and begun again.
      const { attempts: last } = (await late!.getStatus('orphan'))!
      late!.execute(({ attempts }) => `attempt ${attempts}`)
      await late!.start()
      assert.equal(await late!.enqueueAndWait('orphan', 'hang', { timeout: 60_000 }), `attempt ${last + 1}`)
      assert.equal((await other!.getStatus('orphan'))!.state, 'processing')
      const reaper = new Reaper({ storage, name: names[1], visibilityTimeout: 200 })
      const stalled = new Promise((resolve) => void reaper.once('stalled', resolve))
      await reaper.start()
      assert.equal(await stalled, 'orphan')
      await reaper.stop()
      assert.deepEqual([(await other!.getStatus('orphan'))!.state, workers[1]!.said.length], ['queued', 2])
    })

    test('[trap 29] [trap 12] [Q4.17] three processes wait for the same 40 ids and for one that is cancelled while it fails: each is told of each', async (t) => {
      const { queue, child } = await bench(t, driver)
      const ids = [...numbered('', 40), 'doomed']
      const waiters = await Promise.all([1, 2, 3].map(() => child('wait', { ids })))
      const worker = queue({ concurrency: 10, backoff: () => 50 })
      let failures = 0
      const starts = { afterCancel: 0, isCancelled: false }
      worker.execute(async ({ id }) => {
        if (id !== 'doomed') return id
        failures++
        if (starts.isCancelled) starts.afterCancel++
        throw new Error('once more')
      })
      for (const waiter of waiters) waiter.send()
      for (const waiter of waiters) await waiter.hears((line) => line === 'waiting', 'all wait')
      await worker.start()
      await until(() => failures > 3, 'it has failed a few times')
      // One that runs is not cancelled: between two attempts it is.
      const isCancelled = async (): Promise<boolean> => (await worker.cancel('doomed')).status === 'cancelled'
      await until(isCancelled, 'it is cancelled')
      starts.isCancelled = true
      for (const waiter of waiters) {
        const { ended } = await waiter.hears((line) => line.ended, 'all it waited for has ended')
        assert.deepEqual(ended, [...ids.slice(0, 40), 'JOB_CANCELLED'])
      }
      assert.equal(starts.afterCancel, 0)
      assert.equal((await worker.getStatus('doomed'))!.state, 'cancelled')
    })

    test('[Q4.20] [trap 25] a cancel with abort reaches a worker in another process; its events come here, where events go between processes', async (t) => {
      const { queue, storage, child } = await bench(t, driver)
      const here = queue()
      await here.start()
      const events: QueueEvent[] = []
      const stream = here.events()
      await stream.ready
      const reading = (async () => {
        for await (const event of stream) events.push(event)
      })()
      // It looks by itself once in ten minutes: only hints reach it.
      const worker = await child('work', {
        concurrency: 5,
        visibilityTimeout: 3_000,
        blockTimeout: 600,
        leaseMs: 600_000,
      })
      const other = await child('work', { name: 'other', concurrency: 5, blockTimeout: 600 })
      const timeout = 60_000
      const gone = assert.rejects(here.enqueueAndWait('gone', 'hang', { timeout }), { code: 'JOB_CANCELLED' })
      await worker.hears(({ began }) => began === 'gone', 'it runs')
      assert.deepEqual(await here.cancel('gone', { abort: true }), { status: 'processing', aborting: true })
      assert.equal((await worker.hears(({ aborted }) => aborted === 'gone', 'it is aborted')).code, 'JOB_CANCELLED')
      await gone
      assert.equal(await queue({ name: 'other' }).enqueueAndWait('elsewhere', '', { timeout }), 'elsewhere')
      const failed = ['bad', 'endless'].map((id) =>
        assert.rejects(
          here.enqueueAndWait(id, id === 'bad' ? 'fail' : 'hang', { timeout, maxAttempts: id === 'bad' ? 2 : 1 }),
          {
            code: 'JOB_FAILED',
          },
        ),
      )
      assert.equal(await here.enqueueAndWait('good', '', { timeout }), 'good')
      await Promise.all(failed)
      assert.deepEqual(other.said, ['ready', { began: 'elsewhere', attempt: 1 }])
      if (!storage.features.fleetEvents) return
      await until(() => of('endless', events).includes('failed 1'), 'the last event')
      await here.stop()
      await reading
      assert.deepEqual(of('gone', events), ['queued 0', 'processing 1', 'cancelled 1'])
      assert.deepEqual(of('good', events), ['queued 0', 'processing 1', 'completed 1'])
      assert.deepEqual(of('bad', events), ['queued 0', 'processing 1', 'failing 1', 'processing 2', 'failed 2'])
      assert.deepEqual(of('endless', events), ['queued 0', 'processing 1', 'stalled 1', 'failed 1'])
      assert.equal(events.length, 3 + 3 + 5 + 4)
    })

    test('[trap 45] [Q4.43] [Q4.44] three Reapers, and the leader is killed, then stopped for a while: never two who act, each stall is told once', async (t) => {
      const { queue, storage, child } = await bench(t, driver)
      const lockTTL = 2_000
      const leaderElection = { enabled: true, lockTTL, renewalInterval: 400, acquireRetryInterval: 100 }
      const settings = { visibilityTimeout: 200, checkInterval: 50, leaderElection }
      const candidates = await Promise.all([1, 2, 3].map(() => child('reap', settings)))
      const producer = queue()
      const stallsOf = (id: string): number =>
        candidates.flatMap(({ said }) => said).filter((line) => (line as { stalled?: string }).stalled === id).length
      /** A job whose worker is gone: the leader takes it back. */
      const stall = async (id: string): Promise<void> => {
        await producer.enqueue(id, '')
        await storage.claim({ worker: 'gone', slots: 1, types: [{ type: defaultType, leaseMs: 600_000 }] })
        await until(() => stallsOf(id) > 0, `${id} is taken back`)
        await producer.cancel(id)
      }
      const first = await leaderAmong(candidates)
      await stall('by the first')
      first.signal('SIGKILL')
      await first.exited
      const left = candidates.filter((candidate) => candidate !== first)
      const second = await leaderAmong(left)
      await stall('by the second')
      second.signal('SIGSTOP')
      const third = left.find((candidate) => candidate !== second)!
      await leaderAmong([third])
      const before = second.said.length
      await stall('by the third')
      const continuedAt = Date.now()
      second.signal('SIGCONT')
      await second.hears((line) => line === 'lost', 'the second knows')
      await stall('after all')
      for (const id of ['by the first', 'by the second', 'by the third', 'after all']) assert.equal(stallsOf(id), 1, id)
      type Act = { readonly acts?: string; readonly holder?: string; readonly begunAt?: number }
      // A call that was under way when it was stopped goes on when it continues.
      const late = second.said.slice(before).filter((line) => !((line as Act).begunAt! < continuedAt))
      assert.deepEqual(late, ['lost'])
      const saidBy = (candidate: (typeof candidates)[number]): readonly unknown[] =>
        candidate === second ? second.said.slice(0, before) : candidate.said
      const acts = candidates.flatMap((candidate) => (saidBy(candidate) as Act[]).filter((line) => line.acts))
      assert.ok(acts.length >= 4)
      for (const { acts: actor, holder } of acts) assert.equal(holder || actor, actor)
    })
  })
}
