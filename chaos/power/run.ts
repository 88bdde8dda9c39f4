// npm run chaos:power: records the writes of a process, and opens what a power cut may leave of them. See --help.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { installStrace } from '../../servers/install.ts'
import { cutPower } from './power-cuts.ts'
import { powerDrivers } from './powered.ts'

const help = `\
npm run chaos:power -- --driver <name> [options]

  --driver <name>   ${powerDrivers.join(', ')}
  --cuts <n>        power cuts, each at a random point                     default 100
  --jobs <n>        jobs that the recorded process adds                    default 60
  --seed <n>                                                               default: the time
  --relaxed         with durability 'relaxed' (Redis: everysec), which loses jobs: so one sees that the check would find it
  --help

Needs strace. Exit 0: clean. 1: something acknowledged is missing, or an image does not open. 2: the run could not start.
`

const text = { type: 'string' } as const
const { values } = parseArgs({
  options: {
    driver: text,
    cuts: { ...text, default: '100' },
    jobs: { ...text, default: '60' },
    seed: text,
    relaxed: { type: 'boolean' },
    help: { type: 'boolean' },
  },
})
const driver = powerDrivers.find((name) => name === values.driver)
if (values.help || !driver) {
  console.log(help)
  process.exitCode = values.help ? 0 : 2
} else {
  const directory = mkdtempSync(join(tmpdir(), `holdfast-power-${driver}-`))
  const seed = values.seed === undefined ? Math.floor(Date.now() / 1_000) : Number(values.seed)
  const durability = values.relaxed ? 'relaxed' : 'full'
  try {
    if (!installStrace())
      throw new Error('strace is not on the PATH. Install it (Debian: `apt-get install strace` as root).')
    const { cuts, operations, syncs, jobs, violations } = await cutPower(
      { driver, seed, cuts: Number(values.cuts), jobs: Number(values.jobs), durability },
      directory,
    )
    for (const sentence of violations.slice(0, 20)) console.log(sentence)
    console.log(
      `power driver=${driver} durability=${durability} seed=${seed} cuts=${cuts} operations=${operations} syncs=${syncs} jobs=${jobs} ` +
        `violations=${violations.length} verdict=${violations.length === 0 ? 'pass' : 'fail'}`,
    )
    if (violations.length > 0) process.exitCode = 1
    else rmSync(directory, { recursive: true })
  } catch (error) {
    console.error((error as Error).message)
    process.exitCode = 2
  }
}
