// What CONTRIBUTING.md asks of every source file.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const longest = 300

test(`a source file of more than ${longest} lines says at its top why it is longer than others`, () => {
  const globs = ['packages/*/src/**/*.ts', '{benchmarks,chaos,examples,scripts,servers}/**/*.ts']
  const exclude = ['**/node_modules/**', '**/*.test.ts']
  const files = globSync(globs, { cwd: root, exclude })
  assert.ok(files.length > 300, `${files.length} files`)
  const silent = files.filter((file) => {
    const source = readFileSync(`${root}${file}`, 'utf8')
    const [top = ''] = source.split('\n\n', 1)
    return source.split('\n').length - 1 > longest && !/\bLonger than\b/.test(top)
  })
  assert.deepEqual(silent, [])
})
