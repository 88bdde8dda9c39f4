// The commands that change jobs.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Queue } from 'holdfast'
import { until } from '../../queue/driver.ts'
import type { CommandCase } from './command-case.ts'

export const changeCases: readonly CommandCase[] = [
  {
    name: 'retry, cancel, remove: by id, with their statuses and exit codes',
    proves: ['retry', 'cancel', 'remove'],
    run: async ({ place, t }) => {
      const { holdfast, storage } = await place()
      const answer = async (...args: string[]): Promise<unknown> => {
        const { code, out } = await holdfast([...args, '--json'])
        return [code, (JSON.parse(out) as { jobs: { status: string }[] }).jobs.map(({ status }) => status)]
      }
      await holdfast(['pause', 'mail'])
      assert.deepEqual(await answer('retry', 'm1', 'm3', 'm9'), [1, ['retried', 'not_retryable', 'not_found']])
      assert.deepEqual(await answer('cancel', 'm1', '--yes', '--reason', 'wrong'), [0, ['cancelled']])
      assert.equal(JSON.parse((await holdfast(['job', 'm1', '--json'])).out).cancelReason, 'wrong')
      assert.deepEqual(await answer('revive', 'm1'), [0, ['retried']])
      assert.deepEqual(await answer('remove', 'm1', '--yes'), [1, ['not_terminal']])
      assert.deepEqual(await answer('remove', 'm3', '--yes'), [0, ['removed']])
      assert.match((await holdfast(['cancel', 'm2', '-y'])).out, /^cancelled  queue\.mail m2\n$/)

      const running = new Queue<number>({ storage, name: 'slow' })
      running.execute(
        ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      )
      await running.start()
      t.after(() => running.stop({ graceMs: 0 }))
      await running.enqueue('s1', 1)
      await until(async () => (await running.counts()).states.processing === 1)
      assert.deepEqual(await answer('cancel', 's1', '--yes'), [1, ['processing']])
      assert.deepEqual(await answer('cancel', 's1', '--yes', '--abort'), [0, ['cancelling']])
    },
  },
  {
    name: 'what destroys asks: a terminal, --yes, or exit code 2',
    proves: [],
    run: async ({ place }) => {
      const { holdfast } = await place()
      const silent = await holdfast(['remove', 'm1'])
      assert.deepEqual([silent.code, silent.out], [2, ''])
      assert.match(silent.errors, /Remove queue\.mail m1 \(failed\)\? There is no terminal to ask at: pass --yes/)
      const no = await holdfast(['remove', 'm1'], { answer: 'n' })
      assert.deepEqual([no.code, no.errors], [1, 'Remove queue.mail m1 (failed)? [y/N] Nothing was changed.\n'])
      assert.equal((await holdfast(['job', 'm1'])).code, 0)
      assert.equal((await holdfast(['remove', 'm1'], { answer: 'yes' })).out, 'removed  queue.mail m1\n')
      for (const args of [
        ['cancel', 'm2'],
        ['redrive', '--all'],
        ['retry', '--all'],
        ['schedules', 'prune', '--release', '9'],
      ]) {
        assert.equal((await holdfast(args)).code, 2, args.join(' '))
      }
      assert.equal((await holdfast(['job', 'm2', '--json'])).code, 0)
    },
  },
  {
    name: 'all that match: retry, redrive with an edit, cancel, remove',
    proves: ['retry', 'redrive', 'cancel', 'remove'],
    run: async ({ place, driver }) => {
      const { holdfast, folder } = await place()
      const bulk = async (...args: string[]): Promise<readonly [number, number]> => {
        const { code, out, errors } = await holdfast([...args, '--json', '--yes'])
        assert.equal(errors, '')
        return [code, (JSON.parse(out) as { done: number }).done]
      }
      await holdfast(['pause', 'mail'])
      assert.deepEqual(await bulk('retry', '--all', '--type', 'mail', '--per-second', '1000'), [0, 2])
      assert.deepEqual(await bulk('cancel', '--all', '--group', 'tenant-7'), [0, 1])
      assert.deepEqual(await bulk('remove', '--all', '--state', 'completed'), [0, 1])
      assert.match((await holdfast(['remove', '--all', '--state', 'completed'])).out, /^0 of 0 jobs done/)
      await holdfast(['resume', 'mail'])
      await until(async () => JSON.parse((await holdfast(['status', '--json'])).out).types[0].states.failed === 2)

      const edit = join(folder, `edit-${process.pid}-${driver}.mjs`)
      await writeFile(edit, 'export default (payload, job) => job.id === "m1" ? "ada" : payload')
      assert.deepEqual(await bulk('redrive', '--all', '--edit', edit), [0, 2])
      await until(async () => JSON.parse((await holdfast(['job', 'm1', '--json'])).out).state === 'completed')
      assert.equal((await holdfast(['retry', '--type', 'mail'])).code, 2)
      assert.match((await holdfast(['retry'])).errors, /Pass ids, or --all/)
      assert.match((await holdfast(['redrive'])).errors, /pass --all/)
    },
  },
  {
    name: 'enqueue: payload, options, duplicates',
    proves: ['enqueue'],
    run: async ({ place }) => {
      const { holdfast } = await place()
      const shown = async (id: string) => JSON.parse((await holdfast(['job', id, '--json'])).out)
      const added = await holdfast(['enqueue', 'new', '{"n":1}', '--id', 'n1', '--delay', '1h', '--priority', '-5'])
      assert.equal(added.out, 'queued  queue.new n1\n', added.errors)
      const { payload, priority, state, runAt, createdAt } = await shown('n1')
      assert.deepEqual([payload, priority, state, runAt - createdAt], [{ n: 1 }, -5, 'scheduled', 3_600_000])
      assert.equal((await holdfast(['enqueue', 'new', '2', '--id', 'n1'])).out, 'duplicate  queue.new n1\n')
      assert.equal((await holdfast(['enqueue', 'new', '2', '--id', 'n1', '--on-duplicate', 'reject'])).code, 1)
      assert.equal((await holdfast(['enqueue', 'queue.new', '-', '--id', 'n2'], { input: '[1]' })).code, 0)
      assert.deepEqual((await shown('n2')).payload, [1])
      const { id } = JSON.parse((await holdfast(['enqueue', 'new', '--json'])).out)
      assert.equal((await shown(id)).state, 'queued')
      assert.equal((await holdfast(['enqueue', 'new', '{n:1}'])).code, 2)
      assert.equal((await holdfast(['enqueue', 'task.new', '1'])).code, 2)
      const misspelt = await holdfast(['enqueue', 'mial', '1'])
      assert.deepEqual(
        [misspelt.code, misspelt.errors],
        [0, "The queue 'mial' is new. If you meant 'mail', cancel this job.\n"],
      )
      assert.equal((await holdfast(['enqueue', 'mail', '1'])).errors, '')
    },
  },
]
