// Every piece of code on the pages of the federation runs as it is; its links lead somewhere; its defaults are those of policies.ts.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { test } from 'node:test'
import { seedPolicies } from '../../src/policies.ts'

const root = new URL('../../../../', import.meta.url)
const read = (path: string): Promise<string> => readFile(new URL(path, root), 'utf8')

for (const page of ['docs/federation/guide.md', 'docs/federation/workers.md', 'packages/federation/README.md']) {
  const snippets = [...(await read(page)).matchAll(/^```ts\n(.*?)^```/gms)].map(([, code]) => code!)
  test(`${page} has snippets`, () => assert.ok(snippets.length > 0))
  snippets.forEach((code, index) => {
    test(`${page}: snippet ${index + 1} runs`, async (t) => {
      // Inside the project, so that the packages are found by their names.
      const folder = new URL(`snippets.tmp/${process.pid}-${page.replaceAll('/', '-')}-${index}/`, root)
      await mkdir(folder, { recursive: true })
      t.after(() => rm(folder, { recursive: true }))
      await writeFile(new URL('snippet.ts', folder), code)
      const child = spawn(process.execPath, ['--conditions=@holdfast/source', 'snippet.ts'], { cwd: folder })
      let output = ''
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
      const [status] = await once(child, 'exit')
      assert.equal(status, 0, output)
      // What is said to be printed is printed, in this order.
      const lines = output.split('\n')
      for (const [, text, quoted, value] of code.matchAll(
        /^console\.log\((?:'([^']+)'\)$|.*\) \/\/ (?:'(\w+)'|(undefined|false|true)))/gm,
      )) {
        const at = lines.indexOf((text ?? quoted ?? value)!)
        assert.ok(at !== -1, output)
        lines.splice(0, at + 1)
      }
    })
  })
}

test('the first example is 30 lines long', async () => {
  const [, code] = /^```ts\n(.*?)^```/ms.exec(await read('docs/federation/guide.md'))!
  const lines = code!.split('\n').filter((line) => line !== '')
  assert.ok(lines.length <= 30, String(lines.length))
})

for (const page of ['index', 'guide', 'workers', 'errors', 'threat-model', 'workers', 'benchmarks']) {
  test(`docs/federation/${page}.md: every link leads somewhere`, async () => {
    const path = `docs/federation/${page}.md`
    for (const [, target] of (await read(path)).matchAll(/\]\((?!https?:)([^)#]+)[^)]*\)/g)) {
      await readFile(new URL(target!, new URL(path, root)))
    }
  })
}

test('every requirement that the threat model names has a test', async () => {
  const [, table] = /## Attacks\n(.*?)\n## /s.exec(await read('docs/federation/threat-model.md'))!
  const named = new Set(table!.match(/\bS\d+\b/g))
  assert.ok(named.size >= 18, String(named.size))
  const folder = new URL('packages/federation/test/', root)
  const tests = globSync('**/*.ts', { cwd: folder }).map((file) => readFileSync(new URL(file, folder), 'utf8'))
  const missing = [...named].filter((id) => !tests.some((text) => text.includes(`[${id}]`)))
  assert.deepEqual(missing, [])
})

test('the defaults in the guide are those of policies.ts, every one of them', async () => {
  const guide = await read('docs/federation/guide.md')
  const rows = [...guide.matchAll(/^\| `([a-zA-Z.]+)` \| `([^`]*)` \|/gm)].map(([, name, value]) => [name, value])
  const shown: [string, string][] = []
  for (const [group, policies] of Object.entries(seedPolicies)) {
    if (group === 'threats') continue
    if (Array.isArray(policies)) shown.push([group, inWords(group, policies)])
    else for (const [name, value] of Object.entries(policies)) shown.push([`${group}.${name}`, inWords(name, value)])
  }
  assert.deepEqual(rows, shown)
})

function inWords(name: string, value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(', ')
  if (name === 'backoff') {
    const { type, delayMs, factor, jitter } = value as Readonly<Record<string, unknown>>
    return `${type}, ${delayMs} ms, factor ${factor}, jitter ${jitter}`
  }
  if (typeof value !== 'function') return String(value)
  const minutes = [0, 1, 4].map((attempt) => value(attempt) / 60_000)
  return minutes.join() === '5,15,45' ? '(5 + 10 n) min' : minutes.join()
}
