// Directories that cannot be opened, or that go away while they are in use.

import assert from 'node:assert/strict'
import { chmod, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Queue } from 'holdfast'
import { FileStorage } from 'holdfast/file'

test('[Q5.14] a missing or empty directory name is refused by the constructor', () => {
  const expected = { name: 'TypeError', code: 'INVALID_ARGUMENT' }
  assert.throws(() => new FileStorage({ directory: undefined as unknown as string }), {
    ...expected,
    message: 'FileStorage: directory: expected the path of a directory, got undefined',
  })
  assert.throws(() => new FileStorage({ directory: '' }), {
    ...expected,
    message: 'directory: expected the path of a directory, got ""',
  })
})

test('[Q5.14] a directory that is a file is refused at connect, and the file is left as it is', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-open-'))
  t.after(() => rm(folder, { recursive: true }))
  const path = join(folder, 'jobs')
  await writeFile(path, 'mine')
  await assert.rejects(new FileStorage({ directory: path }).connect(), { code: 'STORAGE_ERROR', maybeApplied: false })
})

test('[Q5.14] a directory that may not be written to is refused at connect', async (t) => {
  if (process.getuid?.() === 0) return t.skip('root may write everywhere')
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-open-'))
  t.after(() => rm(folder, { recursive: true }))
  await chmod(folder, 0o500)
  await assert.rejects(new FileStorage({ directory: join(folder, 'jobs') }).connect(), { code: 'STORAGE_ERROR' })
})

test('a directory that was moved away while in use: the call says so, and works again once it is back', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-open-'))
  t.after(() => rm(folder, { recursive: true }))
  const path = join(folder, 'jobs')
  const queue = new Queue<string>({ storage: new FileStorage({ directory: path }), name: 'mail' })
  await queue.enqueue('a', 'hello')

  await rename(path, join(folder, 'elsewhere'))
  await assert.rejects(queue.enqueue('b', 'hello'), { code: 'STORAGE_ERROR', maybeApplied: false })
  await assert.rejects(queue.get('a'), {
    code: 'STORAGE_ERROR',
    message:
      `file storage: get failed: '${join(path, 'holdfast.json')}' is missing: the directory was deleted or moved while in use. ` +
      'Put it back, or restore it from a backup. Nothing was written.',
  })

  await rename(join(folder, 'elsewhere'), path)
  await queue.enqueue('b', 'hello')
  assert.equal((await queue.counts()).states.queued, 2)
  await queue.stop()
})
