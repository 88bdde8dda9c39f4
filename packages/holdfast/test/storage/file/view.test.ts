// The view: the directory as people read it.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { Queue } from 'holdfast'
import { defaultType, type LeaseRef } from 'holdfast/storage'
import { FileStorage } from 'holdfast/file'
import { hostileNames, longNames, lookalikes } from '../../../../conformance/src/hostile/hostile-names.ts'
import { type Disk, nodeDisk } from '../../../src/storage/file/log/disk.ts'
import { fileName } from '../../../src/storage/file/view/file-name.ts'
import { until } from '../../queue/driver.ts'
import { viewFolderOf } from './view-folder.ts'

async function directoryOf(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-file-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  return directory
}

/** The paths of all files of the view. */
async function filesOf(directory: string): Promise<string[]> {
  if (!existsSync(directory)) return []
  const found = await readdir(directory, { recursive: true, withFileTypes: true })
  return found
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .filter((path) => !/^(log|snapshot|tmp|unshown)\/|^(holdfast\.json|reserve)$/.test(path))
    .toSorted()
}

test('[trap 44] file names stay in their folder, differ from each other, and are no devices', () => {
  const names = [...hostileNames, ...longNames, ...lookalikes.flat(), 'con', 'nul.txt', 'com1', '\ud800', '\udc00', '']
  const seen = new Map<string, string>()
  for (const name of new Set(names)) {
    const file = fileName(name)
    assert.match(file, /^[a-z0-9_%~-](?:[a-z0-9_.%~-]*[a-z0-9_%~-])?$/, name)
    assert.ok(file.length <= 180 && !/^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/.test(file), file)
    assert.equal(seen.get(file), undefined, `${name} and ${seen.get(file)}`)
    seen.set(file, name)
  }
  assert.deepEqual(['user:42', 'A', '..', '.a', 'a.job.b', 'con', 'é'].map(fileName), [
    'user%3a42',
    '%41',
    '%2e%2e',
    '%2ea',
    'a.job.b',
    '%63on',
    '%c3%a9',
  ])
})

test('[acceptance 11] ls and cat answer what waits, what runs, who runs it and what failed', async (t) => {
  const directory = await directoryOf(t)
  const storage = new FileStorage({ directory })
  const worker = new Queue<string, string>({ storage, workerId: 'host-1', maxRetries: 1, presenceMs: false })
  const running = Promise.withResolvers<void>()
  t.after(() => worker.stop({ timeout: 0 }))
  worker.execute(async ({ payload }) => {
    if (payload === 'bad') throw new Error('it is broken')
    if (payload === 'slow') await running.promise
    return `did ${payload}`
  })
  for (const payload of ['good', 'bad', 'slow', 'next']) await worker.enqueue(`mail/${payload}`, payload)
  await worker.enqueue('later', 'later', { runAt: 4_000_000_000_000 })
  await worker.start()
  const folder = await viewFolderOf(directory, storage)
  const expected = [
    'errors/mail%2fbad.error',
    'jobs/later.json',
    'jobs/mail%2fbad.json',
    'jobs/mail%2fgood.json',
    'jobs/mail%2fnext.json',
    'jobs/mail%2fslow.json',
    'processing/host-1/0000000003.job',
    'queue/0000000004.job',
    'results/mail%2fgood.result',
    'scheduled/4000000000000-0000000005.job',
  ]
  // Compares names, not numbers: an earlier state has as many files.
  await until(async () => (await filesOf(folder)).join() === expected.join())
  const read = (path: string): Promise<string> => readFile(join(folder, path), 'utf8')
  assert.match(await read('queue/0000000004.job'), /^\{"id":"mail\/next".*\}\n"next"$/)
  assert.match(await read('processing/host-1/0000000003.job'), /^\{"id":"mail\/slow".*\}\n"slow"$/)
  assert.match(await read('errors/mail%2fbad.error'), /it is broken/)
  assert.equal(await read('results/mail%2fgood.result'), '"did good"')
  const record = JSON.parse(await read('jobs/mail%2fslow.json')) as Record<string, unknown>
  assert.deepEqual([record.id, record.state, record.worker, record.attempts], ['mail/slow', 'processing', 'host-1', 1])
  running.resolve()
  await until(async () => !(await filesOf(folder)).some((path) => /^(queue|processing)\//.test(path)))
  await worker.stop()
  assert.equal(JSON.parse(await read('jobs/mail%2fslow.json')).state, 'completed')
})

test('the default type has the root, any other type a folder of its own', async (t) => {
  const directory = await directoryOf(t)
  const storage = await opened(directory, t)
  const retention = { completedMs: 0, failedMs: 0, cancelledMs: 0 }
  await storage.add([defaultType, 'default', 'queue.mail'].map((type) => ({ type, id: 'a', token: type, retention })))
  await storage.pause({ type: defaultType, paused: true })
  await storage.pause({ type: 'default', paused: true })
  const expected = [
    'jobs/a.json',
    'paused.json',
    'queue/0000000001.job',
    'types/default/jobs/a.json',
    'types/default/paused.json',
    'types/default/queue/0000000002.job',
    'types/queue.mail/jobs/a.json',
    'types/queue.mail/queue/0000000003.job',
  ]
  await until(async () => (await filesOf(directory)).join() === expected.join())
})

test('[trap 44] jobs of hostile names leave no file behind, in the directory or beside it', async (t) => {
  const parent = await directoryOf(t)
  const directory = join(parent, 'jobs')
  const storage = new FileStorage({ directory })
  await storage.connect()
  const retention = { completedMs: 0, failedMs: 0, cancelledMs: 0 }
  for (const id of hostileNames) {
    await storage.add([{ type: id, id, token: 't', retention }])
    const { jobs } = await storage.claim({
      worker: `w ${id}`,
      label: id,
      slots: 1,
      types: [{ type: id, leaseMs: 60_000 }],
    })
    assert.equal(jobs[0]!.id, id)
  }
  for (const id of hostileNames) await storage.remove([{ type: id, id }], { trees: true })
  await storage.disconnect()
  assert.deepEqual(await filesOf(directory), [])
  assert.deepEqual(await readdir(parent), ['jobs'])
  assert.deepEqual(await readdir(join(directory, 'tmp')), [])
})

test('[trap 38] a job that is pending in the view while its next commit is under way leaves no file behind', async (t) => {
  const directory = await directoryOf(t)
  let held: PromiseWithResolvers<void> | undefined
  const disk: Disk = {
    ...nodeDisk,
    async sync(file) {
      await held?.promise
      return nodeDisk.sync(file)
    },
  }
  const storage = new FileStorage({ directory }, { disk })
  await storage.connect()
  const retention = { completedMs: 0, failedMs: 0, cancelledMs: 0 }
  await storage.add(['a', 'b'].map((id) => ({ type: defaultType, id, token: id, retention })))
  held = Promise.withResolvers()
  const claiming = storage.claim({ worker: 'w', slots: 1, types: [{ type: defaultType, leaseMs: 60_000 }] })
  // The view has written the job that is not under way.
  await until(() => existsSync(join(directory, 'jobs', 'b.json')), 'b is shown')
  held.resolve()
  held = undefined
  const { jobs } = await claiming
  assert.equal(jobs[0]!.id, 'a')
  await storage.settle(jobs.map(({ type, id, worker, attempt }) => ({ type, id, worker, attempt, kind: 'completed' })))
  await storage.cancel([{ type: defaultType, id: 'b' }])
  while ((await storage.sweep({ limit: 10 })).more);
  await storage.disconnect()
  assert.deepEqual(await filesOf(directory), [])
})

test('without the reserve no job is shown, and all are once the reserve is back', async (t) => {
  const directory = await directoryOf(t)
  let isFull = false
  const reservedBytes = 1_024 * 1_024
  const disk: Disk = {
    ...nodeDisk,
    create(path, bytes) {
      // No room for a reserve; once it is deleted, there is room for a commit.
      if (isFull && (bytes.length === reservedBytes || existsSync(join(directory, 'reserve')))) {
        throw Object.assign(new Error('no space left'), { code: 'ENOSPC' })
      }
      return nodeDisk.create(path, bytes)
    },
  }
  const storage = new FileStorage({ directory }, { disk })
  await storage.connect()
  t.after(() => storage.disconnect())
  const retention = { completedMs: Infinity, failedMs: Infinity, cancelledMs: Infinity }
  await storage.add([{ type: defaultType, id: 'a', token: 'a', payload: Buffer.from('{}'), retention }])
  await until(async () => (await filesOf(directory)).length === 2)
  isFull = true
  const types = [{ type: defaultType, leaseMs: 60_000 }]
  const { jobs } = await storage.claim({ worker: 'w', slots: 1, types })
  await storage.settle(jobs.map((job) => ({ ...refOf(job), kind: 'completed', result: Buffer.from('1') })))
  await storage.sweep({ limit: 10 })
  assert.deepEqual(await filesOf(directory), [])
  isFull = false
  await storage.sweep({ limit: 10 })
  assert.deepEqual(await filesOf(directory), ['jobs/a.json', 'results/a.result'])
})

const refOf = ({ type, id, worker, attempt }: LeaseRef): LeaseRef => ({ type, id, worker, attempt })

async function opened(directory: string, t: TestContext): Promise<FileStorage> {
  const storage = new FileStorage({ directory })
  await storage.connect()
  t.after(() => storage.disconnect())
  return storage
}
