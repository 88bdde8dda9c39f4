// The parts of a power cut, by a trace that is written by hand: what was synced is always there, the rest may be.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { isFull } from '../../packages/holdfast/test/full-size.ts'
import { installStrace } from '../../servers/install.ts'
import { randomOf } from '../random.ts'
import { imageAt } from './disk-image.ts'
import { cutPower } from './power-cuts.ts'
import { powerDrivers } from './powered.ts'
import { diskOpsOf } from './recorded-writes.ts'

const hex = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')
const path = (name: string): string => `<${hex(`/d/${name}`)}>`

const trace = [
  `7 openat(AT_FDCWD<${hex('/')}>, "${hex('/d/new')}", O_WRONLY|O_CREAT, 0600) = 5${path('new')}`,
  `7 write(5${path('new')}, "${hex('one')}", 3) = 3`,
  `7 fsync(5${path('new')}) = 0`,
  `7 rename("${hex('/d/new')}", "${hex('log')}") = 0`,
  `7 fsync(6<${hex('/d')}>) = 0`,
  `7 write(9<${hex('/notes')}>, "${hex('added a\n')}", 8) = 8`,
  `7 write(5${path('log')}, "${hex('two')}", 3 <unfinished ...>`,
  `8 fdatasync(5${path('log')} <unfinished ...>`,
  `7 <... write resumed>) = 3`,
  `8 <... fdatasync resumed>) = 0`,
  `7 pwrite64(5${path('log')}, "${hex('ONE')}", 3, 0 <unfinished ...>`,
  `7 <... pwrite64 resumed>) = 3`,
  `7 fdatasync(5${path('log')}) = -1 EIO (Input/output error)`,
].join('\n')

const ops = diskOpsOf(trace, '/d', '/notes')
const imagesAt = (cut: number): Set<string | undefined> =>
  new Set(Array.from({ length: 200 }, (_, seed) => imageAt(ops, cut, randomOf(seed, 'cut')).get('/d/log')?.toString()))

test('a trace becomes operations, in the order of their ends', () => {
  assert.deepEqual(
    ops.map(({ kind }) => kind),
    ['create', 'write', 'sync', 'rename', 'sync', 'told', 'write', 'sync', 'write'],
  )
})

test('a file has its new name for sure once its folder was synced', () => {
  assert.deepEqual(imagesAt(4), new Set(['one', undefined]))
  assert.deepEqual(imagesAt(5), new Set(['one']))
})

test('a write that had not ended when a sync began may be lost or torn, and so may one after a sync that failed', () => {
  const images = imagesAt(ops.length)
  for (const expected of ['one', 'onetwo', 'ONE', 'ONEtwo', 'onet']) assert.ok(images.has(expected), expected)
  assert.ok(!images.has(undefined) && !images.has(''))
})

for (const driver of powerDrivers) {
  const skip = !isFull ? 'test:all' : !installStrace() && 'strace is not installed'
  for (const durability of ['full', 'relaxed'] as const) {
    test(`${driver}, ${durability}: power cuts at random points`, { skip }, async (t) => {
      const directory = mkdtempSync(join(tmpdir(), 'holdfast-power-'))
      t.after(() => rmSync(directory, { recursive: true }))
      const cuts = driver === 'redis' ? 10 : 40
      const { violations } = await cutPower({ driver, seed: 1, cuts, jobs: 20, durability }, directory)
      if (durability === 'full') assert.deepEqual(violations, [])
      else assert.ok(violations.length > 0, 'what was not synced is lost, and it is noticed')
    })
  }
}
