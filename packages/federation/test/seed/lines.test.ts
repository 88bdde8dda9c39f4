// Every line of the spec has a test, and every test names an existing line.

import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { elsewhere, lines } from './lines.ts'

const folder = new URL('.', import.meta.url)
const files = (await readdir(folder)).filter((file) => file.endsWith('.ts') && !file.startsWith('lines'))
const sources = await Promise.all(files.map((file) => readFile(new URL(file, folder), 'utf8')))
const named = sources.flatMap((source) => {
  const titles = [...source.matchAll(/\btest\(\s*(['"`])(.*?)\1,/gs)].map(([, , title]) => title!)
  return titles.flatMap((title) => [...title.matchAll(/\[([^\]]+)\]/g)].map(([, line]) => line!))
})

test('every line has a test', () => {
  assert.deepEqual(
    Object.keys(lines).filter((line) => !sources.some((source) => source.includes(`[${line}]`))),
    [],
  )
})

test('every named line exists', () => {
  assert.deepEqual(
    // Except the security requirements.
    named.filter((line) => !Object.hasOwn(lines, line) && !/^S\d+$/.test(line)),
    [],
  )
})

for (const [line, [file, title]] of Object.entries(elsewhere)) {
  test(`${line}: ${file} has the test`, async () => {
    const source = await readFile(new URL(`../${file}`, folder), 'utf8')
    assert.ok(source.includes(title), title)
  })
}
