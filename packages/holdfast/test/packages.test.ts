// What every published package says of itself: license, place, and the oldest Node.js.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { oldestNode } from '../src/node-version.ts'

const read = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')

for (const folder of ['holdfast', 'conformance', 'federation', 'fedify', 'dashboard']) {
  const manifest = JSON.parse(read(`packages/${folder}/package.json`))

  test(`packages/${folder}: the manifest has what a registry shows`, () => {
    for (const field of ['description', 'homepage', 'bugs', 'license']) {
      assert.equal(typeof manifest[field], 'string', field)
    }
    assert.ok(manifest.keywords.length > 0, 'keywords')
    assert.equal(manifest.repository.directory, `packages/${folder}`)
  })

  test(`packages/${folder}: engines names the version that the code checks`, () => {
    assert.equal(manifest.engines.node, `>=${oldestNode}`)
  })

  test(`packages/${folder}: LICENSE is the repository's`, () => {
    assert.equal(read(`packages/${folder}/LICENSE`), read('LICENSE'))
  })
}

test('every entry point of holdfast is kept by bundlers: it checks the version of Node.js', () => {
  const { exports, bin, sideEffects } = JSON.parse(read('packages/holdfast/package.json'))
  const files = [...Object.values<{ default: string }>(exports).map((entry) => entry.default), bin.holdfast]
  for (const file of files) {
    assert.ok(sideEffects.includes(file), `sideEffects has no ${file}`)
    const source = read(`packages/holdfast/${file.replace('./dist/', 'src/').replace(/\.js$/, '.ts')}`)
    const [first] = /^(import|export) .*$/m.exec(source)!
    assert.match(first, /^import '(\.\/|(\.\.\/)+)node-version\.ts'$/, file)
  }
  assert.ok(sideEffects.includes('./dist/node-version.js'))
})
