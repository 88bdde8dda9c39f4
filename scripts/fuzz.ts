// Fuzzes what reads input of others: rules of schedules, cursors, filters, URLs, options, arguments of the command line, stored bytes.
//
//   npm run fuzz -- --runs 10000                          every target
//   npm run fuzz -- --target cursor --runs 100000
//   npm run fuzz -- --target cursor --from 4711 --runs 1  one input again
//
// Exit 0: every input was accepted, or refused with an error of Holdfast's. 1: a defect, printed with its seed. 2: wrong usage.

import { parseArgs } from 'node:util'
import { fuzz } from '../packages/holdfast/test/fuzz/fuzz.ts'
import { targets } from '../packages/holdfast/test/fuzz/targets.ts'
import { stopPostgres } from '../packages/holdfast/test/postgres-subject.ts'
import { stopPlaces } from '../packages/holdfast/test/redis-places.ts'

const usage = `usage: npm run fuzz -- [--target ${Object.keys(targets).join('|')}] [--runs N] [--from SEED]`

function readOptions(): { names: string[]; runs: number; from: number } {
  const string = { type: 'string' } as const
  const {
    target,
    runs = '10000',
    from = '1',
  } = parseArgs({ options: { target: string, runs: string, from: string } }).values
  if (target !== undefined && !Object.hasOwn(targets, target)) throw new Error(`target: got "${target}"`)
  for (const [name, text] of Object.entries({ runs, from }))
    if (!/^\d{1,9}$/.test(text)) throw new Error(`${name}: expected an integer, got "${text}"`)
  return { names: target === undefined ? Object.keys(targets) : [target], runs: Number(runs), from: Number(from) }
}

async function main(): Promise<number> {
  let options: ReturnType<typeof readOptions>
  try {
    options = readOptions()
  } catch (error) {
    console.error(`${(error as Error).message}\n${usage}`)
    return 2
  }
  let defects = 0
  for (const name of options.names) {
    const start = performance.now()
    const { runs, refused, found, slowest } = await fuzz(targets[name]!.open, options.runs, options.from)
    const seconds = ((performance.now() - start) / 1_000).toFixed(1)
    console.log(
      `fuzz ${name}: ${runs} inputs in ${seconds} s, ${refused} refused, ${found.length} defects, slowest ${slowest.ms.toFixed(1)} ms (seed ${slowest.seed})`,
    )
    for (const { seed, input, error } of found) {
      console.error(`  seed ${seed}: ${input}\n    ${error.replaceAll('\n', '\n    ')}`)
      console.error(`  repeat: npm run fuzz -- --target ${name} --from ${seed} --runs 1`)
    }
    defects += found.length
  }
  return defects === 0 ? 0 : 1
}

process.exitCode = await main().finally(() => Promise.all([stopPlaces(), stopPostgres()]))
