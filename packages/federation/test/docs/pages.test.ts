// The pages of the federation: every snippet runs, every link resolves, and the tables equal those of the code.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { aliases } from '../../src/aliases.ts'
import { optionNames } from '../../src/create.ts'
import { hardenedPolicies } from '../../src/policies.ts'

const root = new URL('../../../../', import.meta.url)
const runner = fileURLToPath(new URL('packages/holdfast/test/run-snippets.ts', root))
const read = (path: string): Promise<string> => readFile(new URL(path, root), 'utf8')

const pages = ['index', 'guide', 'workers', 'errors', 'threat-model', 'benchmarks'].map(
  (name) => `docs/federation/${name}.md`,
)

for (const page of pages) {
  test(`${page} opens with its purpose and an example`, async () => {
    const [title, , purpose] = (await read(page)).split('\n')
    assert.match(title!, /^# Federation|^# Workers/)
    assert.match(purpose!, /^[A-Z`]/)
    const beforeExample = (await read(page)).split(/^```/m)[0]!
    assert.ok(beforeExample.split('\n').length <= 12, 'the example comes first')
  })
}

for (const page of [...pages, 'packages/federation/README.md']) {
  const snippets = [...(await read(page)).matchAll(/^```ts\n(.*?)^```/gms)].map(([, code]) => code!)
  let running: Promise<PageRun> | undefined
  snippets.forEach((code, index) => {
    test(`${page}: snippet ${index + 1} runs`, async () => {
      const { status, output, outputs } = await (running ??= runPage(page, snippets))
      assert.equal(status, 0, output)
      // What a comment says is printed is printed, in this order.
      const lines = outputs[index]!.split('\n')
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

interface PageRun {
  readonly status: number | null
  readonly output: string
  /** By snippet. */
  readonly outputs: readonly string[]
}

/** All snippets of a page in one process: to load the sources for each would take longer than to run them. */
async function runPage(page: string, snippets: readonly string[]): Promise<PageRun> {
  // Inside the project, where the packages resolve by their names.
  const folder = new URL(`snippets.tmp/${process.pid}-${page.replaceAll('/', '-')}/`, root)
  const folders = snippets.map((_, index) => new URL(`${index}/`, folder))
  for (const [index, code] of snippets.entries()) {
    await mkdir(folders[index]!, { recursive: true })
    await writeFile(new URL('snippet.ts', folders[index]), code)
  }
  const args = ['--conditions=@holdfast/source', runner, ...folders.map((one) => fileURLToPath(one))]
  const child = spawn(process.execPath, args)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const [status] = await once(child, 'close')
  await rm(folder, { recursive: true })
  // A line before the output of each.
  return { status, output, outputs: output.split(/^--- .*$/m).slice(1) }
}

test('the first example is 30 lines long', async () => {
  const [, code] = /^```ts\n(.*?)^```/ms.exec(await read('docs/federation/guide.md'))!
  const lines = code!.split('\n').filter((line) => line !== '')
  assert.ok(lines.length <= 30, String(lines.length))
})

for (const page of pages) {
  test(`${page}: every link resolves`, async () => {
    for (const [, target] of (await read(page)).matchAll(/\]\((?!https?:)([^)#]+)[^)]*\)/g)) {
      await readFile(new URL(target!, new URL(page, root)))
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
  const guide = sectionOf(await read('docs/federation/guide.md'), 'Policies')
  const rows = [...guide.matchAll(/^\| `([a-zA-Z.]+)` \| `([^`]*)` \|/gm)].map(([, name, value]) => [name, value])
  const shown: [string, string][] = []
  for (const [group, policies] of Object.entries(hardenedPolicies)) {
    if (group === 'threats') continue
    if (Array.isArray(policies)) shown.push([group, inWords(group, policies)])
    else for (const [name, value] of Object.entries(policies)) shown.push([`${group}.${name}`, inWords(name, value)])
  }
  assert.deepEqual(rows, shown)
})

test('the guide has every option of createFederation, and every alias', async () => {
  const section = sectionOf(await read('docs/federation/guide.md'), 'Options')
  const [options, shown] = section.split('Aliases are accepted')
  assert.deepEqual(
    [...options!.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name),
    optionNames,
  )
  const rows = [...shown!.matchAll(/^\| ([\w.]+) \| `(\w+)` \| `(\w+)` \|$/gm)].map(([, ...cells]) => cells)
  const expected = Object.entries(aliases).flatMap(([place, words]) =>
    Object.entries(words).map(([alias, word]) => [place, alias, word]),
  )
  assert.deepEqual(rows, expected)
})

function sectionOf(page: string, title: string): string {
  const [, section] = new RegExp(`\\n## ${title}\\n(.*?)(?:\\n## |$)`, 's').exec(page)!
  return section!
}

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
