// Every command that uses a storage, on SQLite and on a Redis server.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { Queue } from 'holdfast'
import { until } from '../queue/driver.ts'
import { stopPlaces } from '../redis-places.ts'
import { hostile, placeWith, start } from './test-host.ts'

after(stopPlaces)

/** A character that a terminal acts on, besides the end of a line. */
const raw = /[^\P{Cc}\n]|\p{Bidi_Control}/u

for (const driver of ['sqlite', 'redis'] as const) {
  describe(`${driver}: the command line`, () => {
    test('status, jobs, job, logs, workers: tables of 80 columns, and JSON', async (t) => {
      const { holdfast } = await placeWith(t, driver)
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
      assert.deepEqual(await holdfast(['job', 'm9']), { code: 1, out: '', errors: "There is no job 'm9'.\n" })

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
    })

    test('explain says why a job waits; doctor finds types without a worker', async (t) => {
      const { holdfast } = await placeWith(t, driver)
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
    })

    test('what comes from the storage reaches the terminal escaped, also as JSON', async (t) => {
      const { holdfast } = await placeWith(t, driver)
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
    })

    test('retry, cancel, remove: by id, with their statuses and exit codes', async (t) => {
      const { holdfast, storage } = await placeWith(t, driver)
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
    })

    test('what destroys asks: a terminal, --yes, or exit code 2', async (t) => {
      const { holdfast } = await placeWith(t, driver)
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
    })

    test('all that match: retry, redrive with an edit, cancel, remove', async (t) => {
      const { holdfast, folder } = await placeWith(t, driver)
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
    })

    test('pause and resume: a type, a group, by whom; a type is found by its name', async (t) => {
      const { holdfast } = await placeWith(t, driver)
      assert.equal((await holdfast(['pause', 'mail'])).out, 'paused  queue.mail\n')
      assert.match((await holdfast(['status'])).out, /paused by ada/)
      assert.equal((await holdfast(['pause', 'queue.mail', '--group', 'g', '--by', 'bob'])).code, 0)
      const [type] = JSON.parse((await holdfast(['status', '--json'])).out).types
      assert.deepEqual([type.paused.by, type.pausedGroups[0].by], ['ada', 'bob'])
      assert.equal((await holdfast(['resume', 'mail'])).out, 'resumed  queue.mail\n')
      const wrong = await holdfast(['pause', 'mial'])
      assert.deepEqual([wrong.code, /Did you mean mail\?/.test(wrong.errors)], [2, true])
    })

    test('an id of several types: they are listed, and --type says which', async (t) => {
      const { holdfast, storage } = await placeWith(t, driver)
      const other = new Queue<number>({ storage, name: 'other' })
      await other.enqueue('m1', 1)
      const both = await holdfast(['job', 'm1'])
      assert.equal(both.code, 2)
      assert.match(both.errors, /Pass one of: --type queue\.\w+, --type queue\.\w+\./)
      assert.match((await holdfast(['job', 'm1', '--type', 'queue.other'])).out, /^queue\.other m1$/m)
      assert.equal((await holdfast(['retry', 'm1', '--type', 'mail'])).code, 0)
      await other.stop()
    })

    test('enqueue: payload, options, duplicates', async (t) => {
      const { holdfast } = await placeWith(t, driver)
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
    })

    test('schedules: list, preview, fire, pause, resume, prune', async (t) => {
      const { holdfast } = await placeWith(t, driver)
      const listed = await holdfast(['schedules'])
      assert.match(listed.out, /^nightly +queue\.report +every 365 d +in /m)
      const { slots } = JSON.parse((await holdfast(['schedules', 'preview', 'nightly', '--count', '2', '--json'])).out)
      assert.equal(slots[1].at - slots[0].at, 365 * 86_400_000)
      const { id } = JSON.parse((await holdfast(['schedules', 'fire', 'nightly', '--json'])).out)
      assert.equal(JSON.parse((await holdfast(['job', id, '--json'])).out).payload, 'all')
      assert.equal((await holdfast(['schedules', 'pause', 'nightly'])).out, 'paused  nightly\n')
      assert.match((await holdfast(['schedules', 'list', '--owner', 'report'])).out, /paused/)
      assert.equal((await holdfast(['schedules', 'resume', 'nightly', '--owner', 'queue.report'])).code, 0)
      assert.match((await holdfast(['schedules', 'fire', 'nihgtly'])).errors, /Did you mean nightly\?/)
      assert.equal((await holdfast(['schedules', 'fire'])).code, 2)
      assert.equal((await holdfast(['schedules', 'prune'])).code, 2)
      assert.equal((await holdfast(['schedules', 'prune', '--release', '3', '--yes'])).out, '0 schedules removed\n')
      assert.equal((await holdfast(['schedules', 'prune', '--release', '4', '--yes'])).out, '1 schedule removed\n')
      assert.equal((await holdfast(['schedules'])).out, 'There is no schedule.\n')
    })

    test('limits: shown with their use, set, removed', async (t) => {
      const { holdfast } = await placeWith(t, driver)
      const effective = async (...args: string[]) =>
        JSON.parse((await holdfast(['limits', 'mail', ...args, '--json'])).out).effective
      assert.match((await holdfast(['limits', 'mail'])).out, /limits +none\n +use +0 running, 1 waiting/)
      const set = { concurrency: 5, rate: { limit: 100, perMs: 60_000 }, maxWaiting: 9 }
      assert.deepEqual(await effective('--concurrency', '5', '--rate', '100/1m', '--max-waiting', '9'), set)
      assert.match((await holdfast(['limits', 'mail'])).out, /5 at a time, 100 per 1 m, 9 waiting \(set by ada\)/)
      assert.deepEqual(await effective('--rate', 'none'), { concurrency: 5, maxWaiting: 9 })
      const group = await holdfast(['limits', 'mail', '--group', 'tenant-7', '--concurrency', '1'])
      assert.match(group.out, /group tenant-7: 1 at a time; 0 running, 1 waiting/)
      assert.deepEqual(await effective('--clear'), {})
      for (const wrong of [
        ['--rate', '5'],
        ['--concurrency', 'x'],
        ['--concurrency', '0'],
        ['--clear', '--rate', '1/s'],
      ]) {
        assert.equal((await holdfast(['limits', 'mail', ...wrong])).code, 2, wrong.join(' '))
      }
    })

    test('sweep deletes what has expired', async (t) => {
      const { holdfast, storage } = await placeWith(t, driver)
      const brief = new Queue<number>({ storage, name: 'brief', resultTTL: 1, presenceMs: false })
      brief.execute(() => {})
      await brief.start()
      t.after(() => brief.stop({ graceMs: 0 }))
      await brief.enqueueAndWait('b1', 1).catch(() => {})
      const swept = await holdfast(['sweep'])
      assert.match(swept.out, /^\d+ records, \d+ deduplication keys and \d+ entries deleted, 0 jobs ended\n$/)
      assert.deepEqual(Object.keys(JSON.parse((await holdfast(['sweep', '--json'])).out)), [
        'jobs',
        'ended',
        'marks',
        'entries',
      ])
      assert.equal((await holdfast(['job', 'b1'])).code, 1)
      assert.equal((await holdfast(['job', 'm1'])).code, 0)
    })

    test('tail prints changes until it is interrupted, or so many', async (t) => {
      const { at, folder, storage } = await placeWith(t, driver)
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
    })

    test('logs --follow ends with the job', async (t) => {
      const { at, folder, storage } = await placeWith(t, driver)
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
    })

    test('bench: figures for people and for programs, and no job is left', async (t) => {
      const { holdfast, storage } = await placeWith(t, driver)
      const shown = await holdfast(['bench', '--jobs', '300', '--concurrency', '10'])
      assert.equal(shown.code, 0, shown.errors)
      assert.match(
        shown.out,
        /^added {2}300 jobs in \d+ ms, \d+ per second\nran {4}300 jobs in \d+ ms, \d+ per second, 10 at a time\n$/,
      )
      const figures = JSON.parse((await holdfast(['bench', '--jobs', '1', '--json'])).out)
      assert.deepEqual(Object.keys(figures), ['jobs', 'concurrency', 'addedPerSecond', 'ranPerSecond'])
      assert.equal((await holdfast(['bench', '--jobs', '0'])).code, 2)
      const { types } = await storage.count({})
      assert.deepEqual(
        types.filter(({ type, states }) => type.includes('bench') && Object.values(states).some((count) => count > 0)),
        [],
      )
    })

    test('migrate opens the storage once', async (t) => {
      const { holdfast } = await placeWith(t, driver)
      assert.equal((await holdfast(['migrate'])).out, `${driver} is up to date now\n`)
      assert.match((await holdfast(['migrate', '--plan'])).out, /^-- /)
    })
  })
}
