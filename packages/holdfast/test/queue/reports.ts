// job.progress() and job.log(), read back from the storage.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Job } from 'holdfast'
import { defaultType, type Storage } from 'holdfast/storage'
import { bench, gate, next, type TestDriver, until } from './driver.ts'

async function reportsOf(storage: Storage, id: string) {
  const [record] = await storage.get([{ type: defaultType, id }], { parts: ['progress', 'log'] })
  return {
    progress: record!.progress && (JSON.parse(Buffer.from(record!.progress).toString()) as unknown),
    lines: (record!.log?.lines ?? []).map(({ attempt, line }) => {
      const { text, fields } = JSON.parse(Buffer.from(line).toString()) as { text: string; fields?: unknown }
      return [attempt, text, fields]
    }),
  }
}

export function reportTests(driver: TestDriver): void {
  describe(`${driver.name}: reports`, () => {
    test('[F27] progress and log lines are there while the job runs, and after its end', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue()
      const end = gate()
      queue.execute(async (job) => {
        job.progress({ done: 1, of: 2 })
        job.log('began', { by: 'ada' })
        await end.promise
        job.progress({ done: 2, of: 2 })
        job.log('ended')
      })
      await queue.start()
      await queue.enqueue('a', 1)
      await until(async () => (await reportsOf(storage, 'a')).progress !== undefined, 'the progress of a running job')
      assert.deepEqual(await reportsOf(storage, 'a'), {
        progress: { done: 1, of: 2 },
        lines: [[1, 'began', { by: 'ada' }]],
      })
      assert.equal((await queue.getStatus('a'))?.state, 'processing')
      const completed = next(queue, 'completed')
      end.resolve()
      await completed
      assert.deepEqual(await reportsOf(storage, 'a'), {
        progress: { done: 2, of: 2 },
        lines: [
          [1, 'began', { by: 'ada' }],
          [1, 'ended', undefined],
        ],
      })
    })

    test('[F27] a handler may destructure its job', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue()
      queue.execute(({ log, progress }) => {
        log('began', { by: 'ada' })
        progress(1)
      })
      await queue.start()
      const completed = next(queue, 'completed')
      await queue.enqueue('a', 1)
      await completed
      assert.deepEqual(await reportsOf(storage, 'a'), { progress: 1, lines: [[1, 'began', { by: 'ada' }]] })
    })

    test('[F27] lines of every run stay, and the progress of the last one, after a failure too', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue({ maxAttempts: 2 })
      queue.execute((job) => {
        job.progress(job.attempts * 10)
        job.log(`run ${job.attempts}`)
        throw new Error('no')
      })
      const failed = next(queue, 'failed')
      await queue.start()
      await queue.enqueue('a', 1)
      await failed
      assert.deepEqual(await reportsOf(storage, 'a'), {
        progress: 20,
        lines: [
          [1, 'run 1', undefined],
          [2, 'run 2', undefined],
        ],
      })
    })

    test('[F27] what a handler reports after its run has ended is dropped', async (t) => {
      const { queue: newQueue, storage } = await bench(t, driver)
      const queue = newQueue()
      let kept: Job<unknown> | undefined
      queue.execute((job) => void (kept = job))
      const completed = next(queue, 'completed')
      await queue.start()
      await queue.enqueue('a', 1)
      await completed
      kept!.progress(1)
      kept!.log('late')
      // After a stop nothing is left to send.
      await storage.connect()
      t.after(() => storage.disconnect())
      await queue.stop()
      assert.deepEqual(await reportsOf(storage, 'a'), { progress: undefined, lines: [] })
    })

    test('[F27] a progress that cannot be stored throws in the handler', async (t) => {
      const { queue: newQueue } = await bench(t, driver)
      const queue = newQueue()
      queue.execute((job) => {
        try {
          job.progress('x'.repeat(5_000))
          return 'stored'
        } catch (error) {
          return (error as { code: string }).code
        }
      })
      await queue.start()
      assert.equal(await queue.enqueueAndWait('a', 1), 'TOO_LARGE')
    })
  })
}
