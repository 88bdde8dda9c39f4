// A storage that fails: outcomes are sent again, claims are tried again, handlers are not blamed.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { StorageError } from 'holdfast'
import { defaultType, type Outcome } from 'holdfast/storage'
import { bench, gate, next, type TestDriver, until } from './driver.ts'
import { failing, type Faulty, faulty, losingAnswers, type Rule } from './faulty-storage.ts'

export function outageTests(driver: TestDriver): void {
  describe(`${driver.name}: outages`, () => {
    for (const [what, rule] of [
      ['not written', failing],
      ['written, but not answered', losingAnswers],
    ] as const) {
      test(`[Q4.35] [trap 8] an outcome that was ${what} is sent again; the handler ran once`, async (t) => {
        const { queue: newQueue, storage } = await bench(t, driver)
        const line = faulty(storage)
        const queue = newQueue({ storage: line.storage, maxRetries: 1 })
        let ran = 0
        queue.execute(() => `run ${++ran}`)
        const said: string[] = []
        const errors: Error[] = []
        for (const event of ['completed', 'failing', 'failed', 'fenced', 'stalled'] as const) {
          queue.on(event, () => said.push(event))
        }
        queue.on('error', (error) => errors.push(error))
        await queue.start()
        onOutcomes(line, rule(1, 2, 3))
        const completed = next(queue, 'completed')
        await queue.enqueue('a', 1)
        assert.deepEqual(await completed, ['a', 'run 1'])
        assert.equal(errors.length, 3)
        for (const error of errors) assert.ok(error instanceof StorageError, String(error))
        assert.deepEqual([said, ran], [['completed'], 1])
        const status = await queue.getStatus('a')
        assert.deepEqual([status?.state, status?.attempts], ['completed', 1])
        await queue.enqueue('b', 1)
        await next(queue, 'completed')
      })
    }

    test('[Q4.35] past the end of the lease too', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const queue = newQueue({ storage: line.storage, leaseMs: 500 })
      let ran = 0
      const release = gate()
      queue.execute(async () => {
        ran++
        await release.promise
        return `run ${ran}`
      })
      queue.on('error', () => {})
      await queue.start()
      await queue.enqueue('a', 1)
      await until(() => ran === 1)
      let isDown = true
      for (const verb of outageVerbs) line.on(verb, async (apply, call) => (isDown ? failing()(apply, call) : apply()))
      const completed = next(queue, 'completed')
      release.resolve()
      const [record] = await storage.get([{ type: defaultType, id: 'a' }])
      await until(
        async () => (await storage.nextDueAt([{ type: defaultType, leaseMs: 50 }]))!.now > record!.leaseUntil!,
      )
      isDown = false
      assert.deepEqual(await completed, ['a', 'run 1'])
      assert.equal(ran, 1)
    })

    test('[Q4.35] taken back meanwhile: fenced, and it runs again', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const [one, other] = [newQueue({ storage: line.storage, leaseMs: 100 }), newQueue()]
      const [running, release] = [gate(), gate()]
      one.execute(async () => {
        running.resolve()
        await release.promise
        return 'of one'
      })
      other.execute((job) => `of the other, ${job.attempts}`)
      one.on('error', () => {})
      await one.start()
      await one.enqueue('a', 1)
      await running.promise
      let isDown = true
      for (const verb of outageVerbs) line.on(verb, async (apply, call) => (isDown ? failing()(apply, call) : apply()))
      release.resolve()
      const completed = next(other, 'completed')
      await other.start()
      assert.deepEqual(await completed, ['a', 'of the other, 2'])
      const fenced = next(one, 'fenced')
      isDown = false
      assert.deepEqual(await fenced, ['a', 1, 'already_completed'])
      assert.equal(await one.getResult('a'), 'of the other, 2')
    })

    test('[Q4.35] one outcome that cannot be recorded does not hold the others up', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const queue = newQueue({ storage: line.storage, concurrency: 5 })
      const go = gate()
      queue.execute(async (job) => {
        await go.promise
        return job.id
      })
      queue.on('error', () => {})
      let isDown = true
      await queue.start()
      onOutcomes(line, async (apply, call) => {
        const isBad = outcomesOf(call.args).some(({ id }) => id === 'bad')
        return isDown && isBad ? failing()(apply, call) : apply()
      })
      const ids = ['a', 'bad', 'b', 'c', 'd', 'e', 'f']
      await Promise.all(ids.map((id) => queue.enqueue(id, 1)))
      await until(async () => (await queue.getStatus('d'))?.state === 'processing')
      go.resolve()
      const isCompleted = async (id: string): Promise<boolean> => (await queue.getStatus(id))?.state === 'completed'
      for (const id of ids) if (id !== 'bad') await until(() => isCompleted(id), id)
      assert.equal((await queue.getStatus('bad'))?.state, 'processing')
      isDown = false
      await until(() => isCompleted('bad'))
    })

    test('[Q4.35] stop sends what is still to be recorded', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const queue = newQueue({ storage: line.storage })
      queue.execute(() => 'done')
      await queue.start()
      onOutcomes(line, failing(1, 2))
      queue.on('error', () => {})
      const failed = next(queue, 'error')
      await queue.enqueue('a', 1)
      await failed
      await queue.stop()
      assert.equal(await newQueue().getResult('a'), 'done')
    })

    test('[Q4.36] [trap 8] a claim that fails: an error event, and the worker goes on by itself', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      line.on('claim', failing(1, 2, 3))
      const queue = newQueue({ storage: line.storage })
      queue.execute((job) => job.attempts)
      const errors: Error[] = []
      queue.on('error', (error) => errors.push(error))
      await newQueue().enqueue('a', 1)
      const completed = next(queue, 'completed')
      await queue.start()
      assert.deepEqual(await completed, ['a', 1])
      assert.equal(errors.length, 3)
      for (const error of errors) assert.ok(error instanceof StorageError && /claim/.test(error.message), String(error))
    })

    test('[Q4.36] a claim whose answer was lost: its jobs come back by their lease', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      line.on('claim', losingAnswers(1))
      const queue = newQueue({ storage: line.storage, leaseMs: 100 })
      queue.execute((job) => job.attempts)
      queue.on('error', () => {})
      await newQueue().enqueue('a', 1)
      const completed = next(queue, 'completed')
      await queue.start()
      assert.deepEqual(await completed, ['a', 2])
    })

    test('[Q4.36] enqueue and reads reject with StorageError, and say whether they may have been applied', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const line = faulty(storage)
      const queue = newQueue({ storage: line.storage })
      for (const verb of ['add', 'get', 'cancel', 'remove']) line.on(verb, failing())
      const calls: [call: () => Promise<unknown>, maybeApplied: boolean][] = [
        [() => queue.enqueue('a', 1), true],
        [() => queue.enqueueAndWait('a', 1), true],
        [() => queue.cancel('a'), true],
        [() => queue.updateResultTTL('a', 1_000), true],
        [() => queue.getStatus('a'), false],
        [() => queue.getResult('a'), false],
      ]
      for (const [call, maybeApplied] of calls) {
        await assert.rejects(call(), (error) => {
          assert.ok(error instanceof StorageError)
          assert.equal(error.maybeApplied, maybeApplied)
          assert.match((error.cause as Error).message, /broke/)
          return true
        })
      }
      for (const verb of ['add', 'get']) line.on(verb, undefined)
      assert.deepEqual(await queue.enqueue('a', 1), { status: 'queued' })
    })
  })
}

/** What a worker asks of its storage. */
const outageVerbs = ['claim', 'settle', 'extend', 'nextDueAt']

const outcomesOf = ([first]: readonly unknown[]): readonly Outcome[] =>
  Array.isArray(first) ? (first as Outcome[]) : ((first as { outcomes?: Outcome[] }).outcomes ?? [])

/** For calls that carry outcomes, settles and claims alike; they are counted together. */
function onOutcomes(line: Faulty, rule: Rule): void {
  let number = 0
  for (const verb of ['settle', 'claim']) {
    line.on(verb, async (apply, call) => {
      if (outcomesOf(call.args).length === 0) return apply()
      return rule(apply, { ...call, number: ++number })
    })
  }
}
