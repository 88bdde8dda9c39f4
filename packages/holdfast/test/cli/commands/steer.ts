// The commands that steer types, groups and schedules.

import assert from 'node:assert/strict'
import type { CommandCase } from './command-case.ts'

export const steerCases: readonly CommandCase[] = [
  {
    name: 'pause and resume: a type, a group, by whom; a type is found by its name',
    proves: ['pause', 'resume'],
    run: async ({ place }) => {
      const { holdfast } = await place()
      assert.equal((await holdfast(['pause', 'mail'])).out, 'paused  queue.mail\n')
      assert.match((await holdfast(['status'])).out, /paused by ada/)
      assert.equal((await holdfast(['pause', 'queue.mail', '--group', 'g', '--by', 'bob'])).code, 0)
      const [type] = JSON.parse((await holdfast(['status', '--json'])).out).types
      assert.deepEqual([type.paused.by, type.pausedGroups[0].by], ['ada', 'bob'])
      assert.equal((await holdfast(['resume', 'mail'])).out, 'resumed  queue.mail\n')
      const wrong = await holdfast(['pause', 'mial'])
      assert.deepEqual([wrong.code, /Did you mean mail\?/.test(wrong.errors)], [2, true])
    },
  },
  {
    name: 'schedules: list, preview, fire, pause, resume, prune',
    proves: ['schedules'],
    run: async ({ place }) => {
      const { holdfast } = await place()
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
    },
  },
  {
    name: 'limits: shown with their use, set, removed',
    proves: ['limits'],
    run: async ({ place }) => {
      const { holdfast } = await place()
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
    },
  },
]
