// The direction of imports: the sources keep it, and an import against it is found.

import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { violations } from '../../../scripts/import-direction.ts'

test('no source of the package imports against the direction', () => {
  assert.deepEqual(violations(fileURLToPath(new URL('../src', import.meta.url))), [])
})

const refused: Readonly<Record<string, string>> = {
  'engine/x.ts': '../queue/y.ts',
  'queue/x.ts': '../tasks/y.ts',
  'chains/client/x.ts': '../../queue/y.ts',
  'storage/redis/x.ts': '../../engine/y.ts',
  'storage/postgres/x.ts': '../sqlite/y.ts',
  'storage/rules/x.ts': '../memory/y.ts',
  'errors.ts': './engine/y.ts',
  'unknown/x.ts': './y.ts',
}
for (const [file, path] of Object.entries(refused)) {
  test(`${file} may not import ${path}`, async (t) => {
    const root = await mkdtemp(join(tmpdir(), 'holdfast-imports-'))
    t.after(() => rm(root, { recursive: true }))
    await mkdir(join(root, dirname(file)), { recursive: true })
    await writeFile(join(root, file), `import { y } from '${path}'\nexport const x = y\n`)
    const found = violations(root)
    assert.equal(found.length, 1)
    assert.ok(found[0]!.startsWith(`${file}: `), found[0])
  })
}
