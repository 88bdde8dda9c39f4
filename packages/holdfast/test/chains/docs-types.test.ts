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

test('the code of every page in docs/chains compiles', async (t) => {
  // In one run: the compiler reads the sources of the packages once.
  const programs: { readonly page: string; readonly code: string }[] = []
  for (const page of pages) {
    const text = await readFile(new URL(page, folder), 'utf8')
    const snippets = [...text.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code]) => ({ page, code: code! }))
    assert.ok(snippets.length > 0, page)
    programs.push(...snippets)
  }
  const { errors } = await compile(t, 'docs-chains', ...programs.map(({ code }) => code))
  assert.deepEqual(
    errors.map(({ program, line, text }) => `${programs[program]!.page}, line ${line} of a snippet: ${text}`),
    [],
  )
})
