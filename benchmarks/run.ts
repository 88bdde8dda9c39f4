// npm run bench: measures Holdfast, and with --peers the peers, alternating, and prints the results. See --help.

import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { cases } from './cases/index.ts'
import { allContenders, type Contender } from './contender.ts'
import { FlagError, type Flags, help, parseFlags } from './flags.ts'
import { installPeers, versionOf } from './peers.ts'
import { describeDisk } from './place.ts'
import { type Described, type Results, thisMachine, toJson } from './results.ts'
import { runRounds, SourcesChanged } from './rounds.ts'
import { sourcesHash } from './sources.ts'
import { table } from './table.ts'

const known = await allContenders()
const names = {
  drivers: [...new Set(known.map(({ driver }) => driver))],
  cases: cases.map(({ name }) => name),
}
const args = process.argv.slice(2)
/** The command without --json, which does not affect the results. */
const command = [
  'npm run bench --',
  ...args
    .filter((arg, index) => !arg.startsWith('--json') && args[index - 1] !== '--json')
    .map((arg) => (arg.includes(' ') ? `"${arg}"` : arg)),
].join(' ')

// Not at once: remove the files on disk first.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

try {
  const flags = parseFlags(args, names)
  if (flags) await bench(flags)
  else console.log(help(names))
} catch (error) {
  if (error instanceof FlagError) {
    console.error(`${error.message}\n\nRun npm run bench -- --help for the options.`)
    process.exitCode = 2
  } else if (error instanceof SourcesChanged) {
    console.error(error.message)
    process.exitCode = 1
  } else {
    throw error
  }
}

async function bench(flags: Flags): Promise<void> {
  if (flags.peers) installPeers()
  const { drivers, peers, rounds, limits } = flags
  const wanted = known.filter(
    ({ name, driver, isPeer }) => isWanted(drivers, driver) && (!isPeer || (peers && isNamed(flags.contenders, name))),
  )
  const taking = wanted.filter(({ name, driver, unavailable }) => {
    const reason = unavailable?.()
    if (reason !== undefined) console.log(`${name} (${driver}): skipped, ${reason}`)
    return reason === undefined
  })
  const contenders = taking.map(describe)
  for (const { name, version, driver, configuration } of contenders) {
    console.log(`${name} ${version} (${driver}): ${configuration}`)
  }
  const disk = taking.some(({ durability }) => durability) ? describeDisk() : undefined
  if (disk !== undefined) console.log(`on disk: ${disk}`)
  const chosen = cases
    .filter(({ name, isOptIn }) => (flags.cases.length === 0 ? !isOptIn : flags.cases.includes(name)))
    .map((of) => ({ ...of, variants: of.variants.filter(({ name }) => isNamed(flags.variants, name)) }))
  const date = new Date().toISOString()
  const sources = sourcesHash()
  const rows = await runRounds(taking, chosen, rounds, limits)
  const results: Results = { date, command, sources, machine: thisMachine(), disk, rounds, limits, contenders, rows }
  const { cores, cpu, node } = results.machine
  console.log(
    `\n${cores} cores, ${cpu}, Node ${node}; ${rounds} ${rounds === 1 ? 'round' : 'rounds'}, medians; ${date}\n\n${table(results)}`,
  )
  if (flags.json) writeFileSync(resolve(flags.json), toJson(results))
  // An invalid result of Holdfast is a bug in Holdfast.
  const isInvalid = rows.some(({ entries }) => entries.some(({ isPeer, invalid }) => !isPeer && invalid !== undefined))
  if (isInvalid) process.exitCode = 1
}

function isWanted(wanted: readonly string[], name: string): boolean {
  return wanted.length === 0 || wanted.includes(name)
}

/** @param parts a part of the name, or all of it behind an = */
function isNamed(parts: readonly string[], name: string): boolean {
  return parts.length === 0 || parts.some((part) => (part[0] === '=' ? name === part.slice(1) : name.includes(part)))
}

function describe({ name, driver, isPeer, configuration, durability, package: packageName }: Contender): Described {
  return { name, driver, version: versionOf(packageName), isPeer, durability, configuration }
}
