// The commands that look.

import assert from 'node:assert/strict'
import { Queue } from 'holdfast'
import { until } from '../../queue/driver.ts'
import { hostile } from '../test-host.ts'
import type { CommandCase } from './command-case.ts'

/** A character that a terminal acts on, besides the end of a line. */
const raw = /[^\P{Cc}\n]|\p{Bidi_Control}/u

export const lookCases: readonly CommandCase[] = [
  {
    name: 'status, jobs, job, logs, workers: tables of 80 columns, and JSON',
    proves: ['status', 'jobs', 'job', 'logs', 'workers'],
    run: async ({ place }) => {
      const { holdfast } = await place()
      const status = await holdfast(['status'])
      assert.equal(status.code, 0, status.errors)
      assert.match(status.out, /^queue\.mail +1 +0 +0 +2 +1 /m)
      const { types, workers } = JSON.parse((await holdfast(['status', '--json'])).out)
      assert.deepEqual([types[0].type, types[0].states.failed, workers], ['queue.mail', 2, 1])

      const failed = await holdfast(['jobs', '--state', 'failed', '--order', 'asc'])
      assert.match(failed.out, /^m1 +queue\.mail +failed +1\/1 /m)
      assert.doesNotMatch(failed.out, /m2|m3/)
      const page = JSON.parse((await holdfast(['jobs', '--json', '--limit', '1', '--type', 'mail'])).out)
      const next = JSON.parse((await holdfast(['jobs', '--json', '--type', 'mail', '--cursor', page.nextCursor])).out)
      assert.deepEqual([page.items.length, next.items.length], [1, 3])

      const job = await holdfast(['job', 'm1'])
      assert.match(job.out, /^failed .*\n\nqueue\.mail m1\nstate +failed\nattempts +1 of 1\n/)
      assert.match(job.out, /^payload +"nobody"$/m)
      assert.match(job.out, /added\n.* run 1 began on post-office\n.* run 1 ended after .*: failed, /)
      assert.equal(JSON.parse((await holdfast(['job', 'm3', '--json'])).out).result.sent, 'ada')
      for (const command of ['job', 'explain', 'logs']) {
        const { code, out, errors } = await holdfast([command, 'm9'])
        assert.deepEqual([code, out], [1, ''])
        assert.match(errors, /^There is no job 'm9'\. It was removed, .* Run holdfast jobs /)
      }

      const logs = await holdfast(['logs', 'm1'])
      assert.match(logs.out, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ run 1  to nobody \{"hostile"/)
      assert.equal(JSON.parse((await holdfast(['logs', 'm1', '--json'])).out).text, 'to nobody')
      assert.equal((await holdfast(['logs', 'm1', '--attempt', '2'])).out, '')

      const alive = await holdfast(['workers'])
      assert.match(alive.out, /^post-office .*queue\.mail/m)
      assert.equal(JSON.parse((await holdfast(['workers', '--json'])).out).workers[0].label, 'post-office')
      for (const { out } of [status, failed, alive]) {
        for (const line of out.split('\n')) assert.ok(line.length <= 80, line)
      }
    },
  },
  {
    name: 'explain says why a job waits; doctor finds types without a worker',
    proves: ['explain', 'doctor'],
    run: async ({ place }) => {
      const { holdfast } = await place()
      const well = await holdfast(['doctor'])
      assert.equal(well.code, 0, well.out + well.errors)
      await holdfast(['pause', 'mail'])
      await holdfast(['retry', 'm1'])
      const why = await holdfast(['explain', 'm1'])
      assert.match(why.out, /^paused  queue 'mail' is paused since .* by ada$/m)
      const { type, reasons } = JSON.parse((await holdfast(['explain', 'm1', '--json'])).out)
      assert.deepEqual([type, reasons[0].code], ['queue.mail', 'paused'])
      assert.equal((await holdfast(['explain', 'm9'])).code, 1)

      await holdfast(['enqueue', 'lonely', '1', '--id', 'n1'])
      const { findings } = JSON.parse((await holdfast(['doctor', '--json'])).out)
      assert.ok(findings.some(({ code }: { code: string }) => code === 'no_worker'))
      assert.match((await holdfast(['doctor'])).out, /no_worker\n  .*lonely/)
    },
  },
  {
    name: 'what comes from the storage reaches the terminal escaped, also as JSON',
    proves: [],
    run: async ({ place }) => {
      const { holdfast } = await place()
      const commands = [
        ['jobs'],
        ['jobs', '--payload'],
        ['job', hostile],
        ['logs', hostile],
        ['explain', hostile],
        ['top', '--once'],
      ]
      for (const args of [...commands, ['retry', 'no such job', hostile], ['job', `${hostile}?`], [hostile]]) {
        for (const json of [[], ['--json']]) {
          const { out, errors } = await holdfast([...args, ...json])
          assert.notEqual(out + errors, '')
          assert.doesNotMatch(out + errors, raw, args.join(' '))
        }
      }
      assert.equal(JSON.parse((await holdfast(['job', hostile, '--json'])).out).id, hostile)
    },
  },
  {
    name: 'an id of several types: they are listed, and --type says which',
    proves: ['job'],
    run: async ({ place }) => {
      const { holdfast, storage } = await place()
      const other = new Queue<number>({ storage, name: 'other' })
      await other.enqueue('m1', 1)
      const both = await holdfast(['job', 'm1'])
      assert.equal(both.code, 2)
      assert.match(both.errors, /Pass one of: --type queue\.\w+, --type queue\.\w+\./)
      assert.match((await holdfast(['job', 'm1', '--type', 'queue.other'])).out, /^queue\.other m1$/m)
      assert.equal((await holdfast(['retry', 'm1', '--type', 'mail'])).code, 0)
      await other.stop()
    },
  },
  {
    name: 'tail prints changes until it is interrupted, or so many',
    proves: ['tail'],
    run: async ({ place, t, start }) => {
      const { at, folder, storage } = await place()
      const queue = new Queue<number>({ storage, name: 'mail' })
      t.after(() => queue.stop())
      const tail = start(['tail', '--json', '--every', '10ms', '--type', 'mail', ...at], { cwd: folder })
      // Until it listens, or has looked once, a change is not seen.
      let sent = 0
      await until(async () => {
        await queue.enqueue(`t${++sent}`, 1)
        return tail.out() !== ''
      })
      tail.interrupt()
      const { code, out } = await tail.ended
      const [first] = out.split('\n').map((line) => (line === '' ? undefined : JSON.parse(line)))
      assert.deepEqual([code, first.type, /^t\d+$/.test(first.id)], [0, 'queue.mail', true])

      const one = start(['tail', '--limit', '1', '--every', '10ms', ...at], { cwd: folder })
      await until(async () => {
        await queue.enqueue(`t${++sent}`, 1)
        return one.out() !== ''
      })
      const ended = await one.ended
      assert.match(ended.out, /^\d\d:\d\d:\d\d  \w+ +queue\.mail t\d+.*\n$/)
    },
  },
  {
    name: 'logs --follow ends with the job',
    proves: ['logs'],
    run: async ({ place, t, start }) => {
      const { at, folder, storage } = await place()
      const { promise, resolve } = Promise.withResolvers<void>()
      const queue = new Queue<number>({ storage, name: 'long' })
      queue.execute(async (job) => {
        job.log('first')
        await promise
        job.log('last')
      })
      await queue.start()
      t.after(() => queue.stop({ graceMs: 0 }))
      await queue.enqueue('l1', 1)
      await until(async () => (await queue.logs('l1'))?.lines.length === 1)
      const logs = start(['logs', 'l1', '--follow', ...at], { cwd: folder })
      await until(() => logs.out().includes('first'))
      resolve()
      const { code, out } = await logs.ended
      assert.deepEqual([code, out.split('\n').map((line) => line.slice(-5))], [0, ['first', ' last', '']])
    },
  },
  {
    name: 'top: one sight for people and for programs, and a line per look without a terminal',
    proves: ['top'],
    run: async ({ place, start, driver }) => {
      const { holdfast, at, folder } = await place()
      const { out } = await holdfast(['top', '--once'])
      assert.match(out, new RegExp(`^holdfast top {2}${driver} {2}`))
      assert.match(out, /^queue\.mail +1 +0 +0 +2 +- *$/m)
      const { types, failures } = JSON.parse((await holdfast(['top', '--once', '--json'])).out)
      assert.deepEqual([types[0].name, types[0].states.failed, failures.length], ['mail', 2, 2])
      const lines = start(['top', '--every', '10ms', ...at], { cwd: folder })
      await until(() => lines.out().split('\n').length > 3)
      lines.interrupt()
      assert.match(
        (await lines.ended).out,
        /^\d\d:\d\d:\d\dZ {2}completed \S+ {2}waiting 1 {2}running 0 {2}failed 2 {2}workers 1$/m,
      )
    },
  },
  {
    name: 'dashboard serves the jobs of the storage to the one who has its link, until it is interrupted',
    proves: ['dashboard'],
    run: async ({ place, start }) => {
      const { at, folder } = await place()
      const served = start(['dashboard', '--json', ...at], { cwd: folder })
      await until(() => served.out() !== '')
      const url = new URL(JSON.parse(served.out()).url as string)
      assert.equal((await fetch(new URL('/api/overview', url.origin))).status, 403)
      const entered = await fetch(url, { redirect: 'manual' })
      const cookie = entered.headers.get('set-cookie')!.split(';')[0]!
      const list = await fetch(new URL('/api/jobs?q=state:failed', url.origin), { headers: { cookie } })
      const { data } = (await list.json()) as { data: { items: { id: string }[] } }
      assert.ok(data.items.some(({ id }) => id === 'm1'))
      served.interrupt()
      assert.equal((await served.ended).code, 0)
    },
  },
]
