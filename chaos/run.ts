// npm run chaos: real processes on one storage, killed and stopped by a plan; then checks on their jobs. See --help.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { killChains } from './chains/kill.ts'
import { chainsLines, chainsReportOf } from './chains/report.ts'
import { runChaos, type Print } from './chaos.ts'
import { FlagError, type Flags, help, parseFlags } from './flags.ts'
import { reportOf } from './report.ts'
import { lineOf, tableOf } from './table.ts'

const print: Print = (line, isPassing = false) => {
  if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K${line}${isPassing ? '' : '\n'}`)
  else console.log(line)
}

try {
  const flags = parseFlags(process.argv.slice(2))
  if (flags) await chaos(flags)
  else console.log(help)
} catch (error) {
  console.error(error instanceof FlagError ? `${error.message}\n\nRun npm run chaos -- --help for the options.` : error)
  process.exitCode = 2
}

async function chaos(flags: Flags): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), `holdfast-chaos-${flags.driver}-`))
  print(`${flags.driver}, seed ${flags.seed}, ${flags.seconds} s, in ${directory}`)
  const { report, table, line } = await (flags.case === 'chains' ? ofChains : ofJobs)(flags, directory)
  if (flags.json) writeFileSync(resolve(flags.json), `${JSON.stringify(report, undefined, 2)}\n`)
  if (table) print(`\n${table}\n`)
  if (report.verdict === 'fail') process.exitCode = 1
  if (report.verdict === 'fail' || flags.keep) print(`the storage and the logs are kept in ${directory}`)
  else rmSync(directory, { recursive: true })
  print(line)
}

async function ofJobs(flags: Flags, directory: string) {
  const report = reportOf(flags, await runChaos(flags, directory, print))
  return { report, table: tableOf(report), line: lineOf(report) }
}

async function ofChains(flags: Flags, directory: string) {
  const report = chainsReportOf(flags, await killChains(flags, directory, print))
  return { report, table: undefined, line: chainsLines(report) }
}
