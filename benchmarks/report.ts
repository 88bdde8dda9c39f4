// npm run bench:report [-- results.json …]: turns the results of npm run bench into docs/benchmarks.md, its charts and the picture of
// the README, those of the case limits into its section of docs/rate-limits.md, and those with the contender `limit` into the table of
// docs/limits.md.
// Without files: all docs/benchmarks/*.json. Of each driver and case the newest run counts.

import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { chartsOf } from './report/charts.ts'
import { withLimitTable } from './report/limit-table.ts'
import { isOfLimits, withLimits } from './report/limits-section.ts'
import { markdown } from './report/markdown.ts'
import { overview } from './report/overview.ts'
import { newestOfEach, type Results } from './results.ts'

const docs = fileURLToPath(new URL('../docs/', import.meta.url))
const usage = 'npm run bench:report -- [results.json …]      default docs/benchmarks/*.json'

const files = filesGiven()
if (files.length === 0) fail(`No results found. First run: npm run bench -- --peers --json docs/benchmarks/<name>.json`)
const read = files.map(resultsIn)
const all = newestOfEach(read.filter((results) => !isOfLimits(results)))
const ofLimits = read.find(isOfLimits)
if (ofLimits) {
  const page = `${docs}rate-limits.md`
  writeFileSync(page, withLimits(readFileSync(page, 'utf8'), ofLimits))
  console.log('docs/rate-limits.md: its table')
}
const limits = readFileSync(`${docs}limits.md`, 'utf8')
const withTable = withLimitTable(limits, read)
if (withTable !== limits) {
  writeFileSync(`${docs}limits.md`, withTable)
  console.log('docs/limits.md: its table')
}
if (all.length === 0) process.exit(0)
mkdirSync(`${docs}benchmarks`, { recursive: true })
for (const { file, svg } of all.flatMap(chartsOf)) writeFileSync(`${docs}benchmarks/${file}`, svg)
const picture = overview(all)
if (picture !== undefined) writeFileSync(`${docs}benchmarks/overview.svg`, picture)
writeFileSync(`${docs}benchmarks.md`, markdown(all))
console.log(`docs/benchmarks.md from ${all.length === 1 ? 'one file' : `${all.length} files`}`)

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

function resultsIn(file: string): Results {
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
