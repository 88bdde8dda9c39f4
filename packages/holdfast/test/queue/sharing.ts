// Several queues, Reapers, names and ids on one storage: nothing is mixed up, and none delays another.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Reaper } from 'holdfast'
import { bench, gate, next, sleep, type TestDriver, until, duplicate } from './driver.ts'
import { faulty } from './faulty-storage.ts'

export function sharingTests(driver: TestDriver): void {
  describe(`${driver.name}: sharing`, () => {
    test('[trap 13] two Queues and a Reaper on one storage: one stops while the others wait and work', async (t) => {
      const { queue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const leaver = queue<string, string>({ storage: line.storage, name: 'leaver' })
      leaver.execute(() => 'left')
      const stayer = queue<string, string>({ storage: line.storage, name: 'stayer', concurrency: 2 })
      const open = gate<string>()
      stayer.execute(({ id, attempts, signal }) => {
        if (id === 'held') return open.promise
        if (attempts > 1) return 'recovered'
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve('late')))
      })
      const reaper = new Reaper({ storage: line.storage, name: 'stayer', visibilityTimeout: 100_000 })
      const eager = new Reaper({ storage: line.storage, name: 'stayer', visibilityTimeout: 200 })
      t.after(() => Promise.all([reaper.stop(), eager.stop()]))
      await Promise.all([leaver.start(), stayer.start(), reaper.start()])
      assert.equal(await leaver.enqueueAndWait('x', ''), 'left')
      const waiting = stayer.enqueueAndWait('held', '')
      await until(async () => (await stayer.getStatus('held'))?.state === 'processing')
      await Promise.all([leaver.stop(), reaper.stop()])
      assert.equal(line.connections, 1, 'the others keep it open')
      open.resolve('worked on')
      assert.equal(await waiting, 'worked on')
      await eager.start()
      assert.equal(await stayer.enqueueAndWait('stuck', ''), 'recovered')
      await Promise.all([stayer.stop(), eager.stop()])
      assert.equal(line.connections, 0, 'the last one out closes it')
    })

    test('[trap 14] ids and names with the marks that keys and paths are made of are told apart', async (t) => {
      const { queue } = await bench(t, driver)
      // Joined by a colon, both would be a:b:c.
      const pairs = [
        ['a', 'b:c'],
        ['a:b', 'c'],
        ['a:b:c', 'd'],
        ['a', 'user:42'],
        ['a', 'user:42:exp'],
        ['a', 'a:exp'],
        ['a/b', '../x'],
        ['a', 'b/../x'],
        ['{a}', 'b'],
      ] as const
      const seen = new Map<string, string[]>()
      for (const name of new Set(pairs.map(([each]) => each))) {
        const worker = queue<string, string>({ name, workerId: '../w' })
        worker.execute(({ id, payload }) => {
          seen.set(name, [...(seen.get(name) ?? []), id])
          return `${name} ${payload}`
        })
        await worker.start()
      }
      for (const [name, id] of pairs) {
        const producer = queue<string, string>({ name })
        assert.equal(await producer.enqueueAndWait(id, `payload of ${id}`), `${name} payload of ${id}`)
      }
      for (const name of seen.keys()) {
        assert.deepEqual(
          seen.get(name),
          pairs.filter(([each]) => each === name).map(([, id]) => id),
        )
        const other = queue<string, string>({ name })
        for (const [foreign, id] of pairs) {
          const isOwn = pairs.some(([each, ownId]) => each === name && ownId === id)
          assert.equal((await other.getResult(id)) !== null, isOwn, `${id} of ${foreign} in ${name}`)
        }
      }
    })

    for (const workerId of ['h:1', '../w', 'w:lease', '*', 'a b\nc']) {
      test(`[trap 14] the jobs of a dead worker called ${JSON.stringify(workerId)} are recovered`, async (t) => {
        const { queue, storage } = await bench(t, driver)
        const line = faulty(storage)
        const dead = queue<string, string>({ storage: line.storage, workerId, leaseMs: 60 })
        t.after(() => line.mend())
        dead.on('error', () => {})
        dead.execute(() => {
          line.cut()
          return new Promise(() => {})
        })
        await dead.start()
        // Of the same label, and yet another worker.
        const other = queue<string, string>({ workerId })
        const waited = other.enqueueAndWait('user:42', '')
        await until(async () => (await other.getStatus('user:42'))?.state === 'processing')
        assert.equal((await other.getStatus('user:42'))!.workerId, workerId)
        other.execute(() => 'recovered')
        await other.start()
        assert.equal(await waited, 'recovered')
        line.mend()
      })
    }

    test('[trap 35] four idle names do not hold up a fifth', async (t) => {
      const { queue } = await bench(t, driver)
      // A job that had to wait for a poll would not end within the time of the test.
      const queues = [1, 2, 3, 4, 5].map((n) => queue<number, number>({ name: `n${n}`, blockTimeout: 600 }))
      for (const each of queues) {
        each.execute(({ payload }) => payload)
        await each.start()
      }
      for (let n = 0; n < 100; n++) assert.equal(await queues[4]!.enqueueAndWait(`j${n}`, n), n)
    })

    test('[trap 44] ids of any form have a place of their own', async (t) => {
      const { queue } = await bench(t, driver)
      const paths = ['../../x', '/', 'a\\b', '.', '..', '\n', '\t', 'x.job', 'a.job.b', 'CON', 'nul', '%2e', '%2E']
      const names = ['__proto__', 'constructor', 'toString', 'user:42', 'a:exp', '{a}', '*', "'; --", '"', '$1']
      const alike = ['A', 'a', 'a ', ' a', ' ', '\u00e9', 'e\u0301', '🙂']
      const long = ['x'.repeat(512), `${'x'.repeat(511)}y`, '🙂'.repeat(128)]
      const ids = [...paths, ...names, ...alike, ...long]
      const worker = queue<string, string>({ concurrency: 10 })
      const seen: string[] = []
      worker.execute(({ id, payload }) => {
        seen.push(id)
        return payload
      })
      await worker.start()
      const results = await Promise.all(ids.map((id, index) => worker.enqueueAndWait(id, `${index}`)))
      assert.deepEqual(
        results,
        ids.map((_, index) => `${index}`),
      )
      assert.deepEqual(seen.toSorted(), ids.toSorted())
      for (const [index, id] of ids.entries()) {
        const status = await worker.getStatus(id)
        assert.deepEqual([status!.id, status!.result], [id, `${index}`])
        assert.deepEqual(await worker.cancel(id), { status: 'completed' })
      }
    })

    test('[trap 47] Queues and a Reaper of one name see the same jobs', async (t) => {
      const { queue, storage } = await bench(t, driver)
      const one = queue<string, string>({ name: 'mail' })
      const two = queue<string, string>({ name: 'mail' })
      await one.enqueue('a', 'of one')
      assert.deepEqual(await two.enqueue('a', 'of two'), duplicate('a', 'queued'))
      assert.equal((await two.getStatus('a'))!.state, 'queued')
      two.execute(({ payload, attempts, signal }) => {
        if (payload !== 'stuck' || attempts > 1) return payload
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve('late')))
      })
      await two.start()
      assert.equal(await one.enqueueAndWait('a', ''), 'of one')
      // Longer than the second attempt takes on a busy machine: it would be taken back, too.
      const reaper = new Reaper({ storage, name: 'mail', visibilityTimeout: 1_000 })
      const other = new Reaper({ storage, name: 'post', visibilityTimeout: 1_000 })
      t.after(() => Promise.all([reaper.stop(), other.stop()]))
      const stalled: string[] = []
      reaper.on('stalled', (id) => stalled.push(id))
      other.on('stalled', () => assert.fail('of another name'))
      await Promise.all([reaper.start(), other.start()])
      const fenced = next(two, 'fenced')
      assert.equal(await one.enqueueAndWait('b', 'stuck'), 'stuck')
      await fenced
      assert.deepEqual(stalled, ['b'])
      await sleep(20)
    })
  })
}
