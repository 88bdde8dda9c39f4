// The code in docs/chains compiles. docs.test.ts runs it.

import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { compile } from './compiler.ts'

const folder = new URL('../../../../docs/chains/', import.meta.url)
const pages = globSync('*.md', { cwd: fileURLToPath(folder) })
assert.ok(pages.length > 0)

for (const page of pages) {
  const text = await readFile(new URL(page, folder), 'utf8')
  const snippets = [...text.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code]) => code!)
  test(`docs/chains/${page}: its code compiles`, async (t) => {
    assert.ok(snippets.length > 0)
    const { errors } = await compile(t, page, ...snippets)
    assert.deepEqual(errors, [])
  })
}
