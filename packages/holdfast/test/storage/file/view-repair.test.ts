// The repair of the view after a process was killed: everything is as the records say, and calls go on meanwhile.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { FileStorage } from 'holdfast/file'
import { defaultType } from 'holdfast/storage'
import { programOf } from '../../../../../scripts/test-programs.ts'
import { type Disk, nodeDisk } from '../../../src/storage/file/log/disk.ts'

const jobs = 1_500
const retention = { completedMs: Infinity, failedMs: Infinity, cancelledMs: Infinity }
const types = [{ type: defaultType, leaseMs: 60_000 }]

function directoryOf(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-file-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** An empty folder may be gone. */
function names(directory: string, folder: string): string[] {
  const path = join(directory, folder)
  return existsSync(path) ? readdirSync(path).toSorted() : []
}

/** A directory of waiting jobs, in whose view things are wrong, and the marker of a process that was killed. */
async function damaged(t: TestContext): Promise<string> {
  const directory = directoryOf(t)
  const storage = new FileStorage({ directory })
  await storage.connect()
  const ids = Array.from({ length: jobs }, (_, index) => `j${index}`)
  for (let from = 0; from < jobs; from += 500) {
    await storage.add(ids.slice(from, from + 500).map((id) => ({ type: defaultType, id, token: id, retention })))
  }
  await storage.disconnect()
  mkdirSync(join(directory, 'results'), { recursive: true })
  for (const path of ['queue/0000999999.job', 'jobs/gone.json', 'results/j1.result', 'jobs/j2.json']) {
    writeFileSync(join(directory, path), '{}')
  }
  unlinkSync(join(directory, 'jobs', 'j3.json'))
  writeFileSync(join(directory, 'unshown', 'left-1'), '')
  return directory
}

/** Counts the records of jobs that are read from the view. */
function counting() {
  const counts = { records: 0 }
  const disk: Disk = {
    ...nodeDisk,
    read(path) {
      if (/\/jobs\/[^/]+\.json$/.test(path)) counts.records++
      return nodeDisk.read(path)
    },
  }
  return { counts, disk }
}

test('what a killed process had not shown, or not removed, is put right', async (t) => {
  const directory = await damaged(t)
  const storage = new FileStorage({ directory })
  await storage.connect()
  await storage.disconnect()
  assert.equal(names(directory, 'jobs').length, jobs)
  assert.equal(names(directory, 'queue').length, jobs)
  assert.ok(names(directory, 'jobs').includes('j3.json') && !names(directory, 'jobs').includes('gone.json'))
  assert.deepEqual([names(directory, 'results'), names(directory, 'unshown')], [[], []])
})

test('calls do not wait for a repair, and what they change meanwhile is shown', async (t) => {
  const directory = await damaged(t)
  const { counts, disk } = counting()
  const storage = new FileStorage({ directory }, { disk })
  await storage.connect()
  const claim = await storage.claim({ worker: 'w', slots: 200, types })
  assert.equal(claim.jobs.length, 200)
  await storage.add([{ type: defaultType, id: 'gone', token: 'new', retention }])
  assert.ok(counts.records < jobs, `${counts.records} of ${jobs} records were read before the answers`)
  await storage.settle(
    claim.jobs.map(({ type, id, worker, attempt }) => ({ type, id, worker, attempt, kind: 'completed' as const })),
  )
  await storage.disconnect()
  assert.equal(names(directory, 'jobs').length, jobs + 1)
  assert.equal(names(directory, 'queue').length, jobs + 1 - 200)
  assert.deepEqual([names(directory, 'processing'), names(directory, 'unshown')], [[], []])
})

test('of several processes one repairs the view', async (t) => {
  const directory = await damaged(t)
  const { counts, disk } = counting()
  const storages = [1, 2, 3].map(() => new FileStorage({ directory }, { disk }))
  for (const storage of storages) await storage.connect()
  for (const storage of storages) await storage.disconnect()
  assert.ok(counts.records <= jobs, `${counts.records} records were read`)
  assert.equal(names(directory, 'queue').length, jobs)
})

test('changes that a killed process had not shown are shown by the next process that opens the directory', async (t) => {
  const directory = directoryOf(t)
  const script = programOf(new URL('fixtures/enqueue.ts', import.meta.url))
  const order = JSON.stringify({ directory, threads: 1, prefix: 'j', count: 1e9, inFlight: 20 })
  const child = spawn(process.execPath, ['--conditions=@holdfast/source', script, order])
  t.after(() => child.kill('SIGKILL'))
  for (let seen = ''; seen.length < 2_000;) seen += String((await once(child.stdout, 'data'))[0])
  child.kill('SIGKILL')
  await once(child, 'close')
  const storage = new FileStorage({ directory })
  await storage.connect()
  const [type] = (await storage.count({})).types
  await storage.disconnect()
  assert.deepEqual(names(directory, 'unshown'), [])
  const [folder] = type!.type === defaultType ? [''] : names(directory, 'types').map((name) => join('types', name))
  assert.equal(names(directory, join(folder!, 'jobs')).length, type!.states.queued)
  assert.equal(names(directory, join(folder!, 'queue')).length, type!.states.queued)
})
