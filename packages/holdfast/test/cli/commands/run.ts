// The commands that run or maintain something.

import assert from 'node:assert/strict'
import { Queue } from 'holdfast'
import { until } from '../../queue/driver.ts'
import { configFolder } from '../config-folder.ts'
import type { CommandCase } from './command-case.ts'

export const runCases: readonly CommandCase[] = [
  {
    name: 'sweep deletes what has expired',
    proves: ['sweep'],
    run: async ({ place, t }) => {
      const { holdfast, storage } = await place()
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
    },
  },
  {
    name: 'bench: figures for people and for programs, and no job is left',
    proves: ['bench'],
    run: async ({ place }) => {
      const { holdfast, storage } = await place()
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
    },
  },
  {
    name: 'migrate opens the storage once',
    proves: ['migrate'],
    run: async ({ place, driver }) => {
      const { holdfast } = await place()
      const done = driver === 'postgres' ? 'the schema was up to date' : `${driver} is up to date now`
      assert.equal((await holdfast(['migrate'])).out, `${done}\n`)
      assert.match((await holdfast(['migrate', '--plan'])).out, /^-- /)
    },
  },
  {
    name: 'check reads the configuration; work runs its workers until it is interrupted',
    proves: ['check', 'work'],
    run: async ({ place, start, t, driver }) => {
      const { code, holdfast } = await place()
      const cwd = await configFolder(t, `${code}${letters}`)
      const at = { cwd }
      const checked = start(['check'], at)
      assert.equal(
        (await checked.ended).out,
        `storage  ${driver}\nworker   queue 'letters'\nThe configuration is fine.\n`,
      )
      assert.equal((await start(['enqueue', 'letters', '"ada"', '--id', 'l1'], at).ended).code, 0)
      const work = start(['work', '--json', '--grace', '10ms'], at)
      const shown = async () => JSON.parse((await holdfast(['job', 'l1', '--json'])).out)
      await until(async () => (await shown()).state === 'completed')
      assert.equal((await shown()).result, 'sent to ada')
      work.interrupt()
      const { out } = await work.ended
      const events = out
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { event: string }).event)
      assert.deepEqual(events, ['ready', 'stopping', 'stopped'])
    },
  },
  {
    name: 'completion prints the script of a shell, whatever the storage',
    proves: ['completion'],
    run: async ({ start, place }) => {
      const { folder } = await place()
      for (const shell of ['bash', 'zsh', 'fish']) {
        const { code, out } = await start(['completion', shell], { cwd: folder }).ended
        assert.deepEqual([code, /redrive/.test(out)], [0, true], shell)
      }
    },
  },
]

/** The rest of a configuration: one queue whose handler ends at once. */
const letters = `
import { defineConfig, Queue } from 'holdfast'
const queue = new Queue<string, string>({ storage, name: 'letters' })
queue.execute(({ payload }) => \`sent to \${payload}\`)
export default defineConfig({ storage, workers: [queue] })
`
