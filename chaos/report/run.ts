// npm run chaos:report -- FILE…: adds the JSON reports of runs to docs/chaos-report.json, and writes docs/chaos-report.md.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { pageOf } from './chaos-page.ts'
import { type ChaosReport, noReport, withReport } from './chaos-report.ts'

const kept = new URL('../../docs/chaos-report.json', import.meta.url)
const page = new URL('../../docs/chaos-report.md', import.meta.url)

const read = (file: string | URL): object => JSON.parse(readFileSync(file, 'utf8')) as object
const before = existsSync(kept) ? (read(kept) as ChaosReport) : noReport
const report = process.argv.slice(2).reduce((all, file) => withReport(all, read(file)), before)
writeFileSync(kept, `${JSON.stringify(report, undefined, 2)}\n`)
writeFileSync(page, pageOf(report))
console.log(
  `${Object.keys(report.cells).length} cells, ${Object.keys(report.volume).length} runs for volume, ${Object.keys(report.runs).length} runs`,
)
