// The package as users install it: built, packed, unpacked into a clean folder beside Fedify, and run without the sources. `npm run check:packed`
// installs all packages with npm; this needs no registry.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { isFull } from '../../holdfast/test/full-size.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const run = promisify(execFile)

const script = `
import { createFederation } from '@fedify/fedify'
import { HoldfastKvStore, HoldfastMessageQueue } from '@holdfast/fedify'
import { SqliteStorage } from 'holdfast/sqlite'

const storage = new SqliteStorage({ path: 'federation.db' })
const [queue, kv] = [new HoldfastMessageQueue(storage), new HoldfastKvStore(storage)]
createFederation({ queue, kv, manuallyStartQueue: true })
await queue.enqueue({ id: 'x' }, { orderingKey: 'k' })
await kv.set(['a'], null)
console.log(JSON.stringify([await queue.getDepth(), await kv.get(['a'])]))
await queue.close()
await kv.close()
`

/** With exactOptionalPropertyTypes, a member that may be undefined is none that may be absent. */
const strict = `
import { createFederation } from '@fedify/fedify'
import { HoldfastKvStore, HoldfastMessageQueue } from '@holdfast/fedify'
import { MemoryStorage } from 'holdfast'

const storage = new MemoryStorage()
createFederation<void>({ queue: new HoldfastMessageQueue(storage), kv: new HoldfastKvStore(storage) })
`

test('[E4] it packs, installs and runs beside Fedify in a clean folder', { skip: !isFull && 'test:all' }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-package-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  // In a copy, so that a concurrent build is not disturbed.
  await cp(join(root, 'tsconfig.base.json'), join(folder, 'tsconfig.base.json'))
  for (const name of ['holdfast', 'fedify']) {
    for (const part of ['src', 'package.json', 'tsconfig.build.json', 'LICENSE']) {
      await cp(join(root, 'packages', name, part), join(folder, 'packages', name, part), { recursive: true })
    }
  }
  const modules = join(folder, 'node_modules')
  await mkdir(modules)
  // Every installed package, except those of this workspace.
  for (const name of await readdir(join(root, 'node_modules'))) {
    if (name !== 'holdfast' && name !== '@holdfast')
      await symlink(join(root, 'node_modules', name), join(modules, name))
  }
  await symlink(join(folder, 'packages/holdfast'), join(modules, 'holdfast'))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const clean = join(folder, 'clean')
  for (const name of ['holdfast', 'fedify']) {
    const cwd = join(folder, 'packages', name)
    // `npm run types` checks the sources; what is written is the same.
    await run(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--noCheck'], { cwd })
    const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts'], { cwd })
    const [{ filename }] = JSON.parse(stdout) as [{ filename: string }]
    const target = join(clean, 'node_modules', name === 'fedify' ? '@holdfast/fedify' : name)
    await mkdir(target, { recursive: true })
    await run('tar', ['-xzf', join(cwd, filename), '--strip-components=1', '-C', target])
  }
  await mkdir(join(clean, 'node_modules/@fedify'))
  await symlink(join(root, 'node_modules/@fedify/fedify'), join(clean, 'node_modules/@fedify/fedify'))
  await writeFile(join(clean, 'run.mjs'), script)
  const { stdout } = await run(process.execPath, ['run.mjs'], { cwd: clean })
  assert.deepEqual(JSON.parse(stdout), [{ queued: 1, ready: 1, delayed: 0 }, null])
  await writeFile(join(clean, 'strict.mts'), strict)
  const options =
    '--noEmit --strict --exactOptionalPropertyTypes --skipLibCheck --module nodenext --target es2024 --types node'
  await symlink(join(root, 'node_modules/@types'), join(clean, 'node_modules/@types'))
  await run(process.execPath, [tsc, ...options.split(' '), 'strict.mts'], { cwd: clean })
})
