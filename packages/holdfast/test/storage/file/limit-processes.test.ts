// Two processes on one directory, and limits that both keep. The log has every start and end in its order.

import assert from 'node:assert/strict'
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { Readable, Writable } from 'node:stream'
import { createInterface } from 'node:readline'
import { FileStorage } from 'holdfast/file'
import type { Limits } from 'holdfast/storage'
import { programOf } from '../../../../../scripts/test-programs.ts'
import { quickFolder } from '../../drivers.ts'

const script = programOf(new URL('fixtures/claim-groups.ts', import.meta.url))
const retention = { completedMs: 60_000, failedMs: 60_000, cancelledMs: 60_000 }

/** A process that begins when it is told to, and completes jobs until none is left. */
class Claimer {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #lines: string[] = []

  constructor(t: TestContext, order: object) {
    const args = ['--conditions=@holdfast/source', script, JSON.stringify(order)]
    this.#child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    t.after(() => this.#child.kill('SIGKILL'))
    createInterface(this.#child.stdout).on('line', (line) => this.#lines.push(line))
  }

  async ready(): Promise<void> {
    while (this.#lines.length === 0) await once(this.#child.stdout, 'data')
  }

  /** @returns the ids that it completed */
  async run(): Promise<string[]> {
    this.#child.stdin.end()
    const [code] = (await once(this.#child, 'close')) as [number]
    assert.equal(code, 0)
    return this.#lines.slice(1)
  }
}

interface Put {
  readonly id: string
  readonly state: string
  readonly group?: string
}

/** The largest number of jobs in processing at once, by group and in all. */
async function mostRunning(directory: string): Promise<Record<string, number>> {
  const [folder] = await readdir(join(directory, 'log'))
  const groupOf = new Map<string, string>()
  const running = new Map<string, Set<string>>([['all', new Set()]])
  const most: Record<string, number> = {}
  for (const name of (await readdir(join(directory, 'log', folder!))).toSorted()) {
    const lines = (await readFile(join(directory, 'log', folder!, name), 'utf8')).trim().split('\n')
    for (const line of lines.slice(1)) {
      const { job, set = job } = JSON.parse(line) as { job?: Put; set?: Put }
      if (job) groupOf.set(job.id, job.group!)
      if (!set) continue
      for (const group of [groupOf.get(set.id)!, 'all']) {
        if (!running.has(group)) running.set(group, new Set())
        if (set.state === 'processing') running.get(group)!.add(set.id)
        else running.get(group)!.delete(set.id)
      }
    }
    for (const [group, ids] of running) most[group] = Math.max(most[group] ?? 0, ids.size)
  }
  return most
}

test('[F20] two processes of three claimers keep the limit of a group, of an ordered group and of the type at every commit', async (t) => {
  const directory = await mkdtemp(join(quickFolder, 'holdfast-file-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  const storage = new FileStorage({ directory, durability: 'relaxed' })
  await storage.connect()
  const ids = Array.from({ length: 30 }, (_, n) => n)
  await storage.add(
    ids.flatMap((n) => [
      { type: 'a', id: `g${n}`, token: `g${n}`, retention, group: { key: 'g' } },
      { type: 'a', id: `h${n}`, token: `h${n}`, retention, group: { key: 'h', ordered: true } },
      { type: 'a', id: `i${n}`, token: `i${n}`, retention, group: { key: 'i' } },
    ]),
  )
  await storage.disconnect()
  const limits: Limits = { concurrency: 4, group: { limit: 2 } }
  const claimers = ['one', 'two'].map((name) => new Claimer(t, { directory, name, limits }))
  for (const claimer of claimers) await claimer.ready()
  const done = await Promise.all(claimers.map((claimer) => claimer.run()))
  assert.equal(done.flat().length, 90)
  assert.equal(new Set(done.flat()).size, 90)
  const most = await mostRunning(directory)
  assert.deepEqual(Object.keys(most).toSorted(), ['all', 'g', 'h', 'i'])
  assert.ok(most.g! <= 2 && most.h === 1 && most.i! <= 2 && most.all! <= 4, JSON.stringify(most))
  // More than one job ran at once, or the limits were not tried.
  assert.ok(most.all! > 1)
})
