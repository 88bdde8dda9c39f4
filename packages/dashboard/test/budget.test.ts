// What the app weighs, as the server sends it: the page and all that it names, after gzip.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { open } from './client.ts'

/** Bytes after gzip. */
const [firstViewBudget, wholeBudget] = [60_000, 150_000]
const assets = new URL('../dist/assets/', import.meta.url)
/** Not loaded by a page: what the server reads, and the licenses of what is bundled. */
const unloaded = ['manifest.json', 'LICENSES.txt']

const zipped = (content: string | Uint8Array): number => gzipSync(content).length

/** The files that a document, script or style sheet names. */
const namesIn = (text: string): string[] => [...new Set(text.match(/app-[\w-]+\.(?:js|css|svg|woff2)/g))]

test('the first view has at most 60 kB after gzip, and all files at most 150 kB', async () => {
  const { client } = open()
  const page = await client.send('/')
  assert.equal(page.status, 200)
  const document = String(page.body)
  const loaded = new Set<string>()
  let firstView = zipped(document)
  for (let wanted = namesIn(document); wanted.length > 0;) {
    const name = wanted.pop()!
    if (loaded.has(name)) continue
    loaded.add(name)
    const { status, body } = await client.send(`/assets/${name}`)
    assert.equal(status, 200, name)
    firstView += zipped(String(body))
    // A part that is imported on demand counts, too: the sum is an upper bound.
    wanted = wanted.concat(namesIn(String(body)))
  }
  assert.deepEqual([...loaded].map((name) => name.split('.').at(-1)).toSorted(), ['css', 'js', 'svg'])
  assert.ok(firstView > 10_000 && firstView <= firstViewBudget, `the first view has ${firstView} bytes`)

  const files = readdirSync(assets).filter((name) => !unloaded.includes(name))
  const whole = files.reduce((sum, name) => sum + zipped(readFileSync(new URL(name, assets))), 0)
  assert.ok(whole <= wholeBudget, `all files have ${whole} bytes`)
})
