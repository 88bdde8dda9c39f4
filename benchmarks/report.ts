// npm run bench:report [-- results.json …]: turns the results of npm run bench into docs/benchmarks.md and its charts.
// Without files: all docs/benchmarks/*.json, usually one per driver.

import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { chartsOf } from './report/charts.ts'
import { markdown } from './report/markdown.ts'
import type { Results } from './results.ts'

const docs = fileURLToPath(new URL('../docs/', import.meta.url))
const usage = 'npm run bench:report -- [results.json …]      default docs/benchmarks/*.json'

const files = filesGiven()
if (files.length === 0)
  fail(`No results found. First run: npm run bench -- --peers --json docs/benchmarks/<driver>.json`)
const all = files.map(read)
mkdirSync(`${docs}benchmarks`, { recursive: true })
for (const { file, svg } of all.flatMap(chartsOf)) writeFileSync(`${docs}benchmarks/${file}`, svg)
writeFileSync(`${docs}benchmarks.md`, markdown(all))
console.log(`docs/benchmarks.md from ${files.length === 1 ? 'one file' : `${files.length} files`}`)

function filesGiven(): string[] {
  try {
    const { values, positionals } = parseArgs({ allowPositionals: true, options: { help: { type: 'boolean' } } })
    if (values.help) {
      console.log(usage)
      process.exit(0)
    }
    return positionals.length > 0 ? positionals : globSync(`${docs}benchmarks/*.json`).toSorted()
  } catch (error) {
    return fail(`${(error as Error).message}\n${usage}`)
  }
}

function read(file: string): Results {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Results
  } catch (error) {
    return fail(`${file}: ${(error as Error).message}`)
  }
}

function fail(message: string): never {
  console.error(message)
  process.exit(2)
}
