// Every command, on SQLite and on a Redis server; with `npm run test:all` also on Postgres. The cases are data: each says which commands
// it proves, and a command that no case proves fails the first test.

import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { after, describe, test, type TestContext } from 'node:test'
import { commands } from '../../src/cli/commands.ts'
import { isFull } from '../full-size.ts'
import { stopPostgres } from '../postgres-subject.ts'
import { stopPlaces } from '../redis-places.ts'
import { changeCases } from './commands/change-jobs.ts'
import type { CommandCase } from './commands/command-case.ts'
import { lookCases } from './commands/look.ts'
import { runCases } from './commands/run.ts'
import { steerCases } from './commands/steer.ts'
import { type DriverName, type Place, placeWith, type Ran, type Settings, start } from './test-host.ts'

after(async () => void (await Promise.all([stopPlaces(), stopPostgres()])))

const cases: readonly CommandCase[] = [...lookCases, ...changeCases, ...steerCases, ...runCases]
const drivers: readonly DriverName[] = isFull ? ['sqlite', 'redis', 'postgres'] : ['sqlite', 'redis']

test('every command has a case, and every file of commands/ is a command', () => {
  const names = commands.map(({ name }) => name).toSorted()
  const files = readdirSync(new URL('../../src/cli/commands/', import.meta.url)).map((file) => file.replace('.ts', ''))
  assert.deepEqual(files.toSorted(), names)
  assert.deepEqual([...new Set(cases.flatMap(({ proves }) => proves))].toSorted(), names)
})

for (const driver of drivers) {
  describe(`${driver}: the command line`, () => {
    for (const each of cases) test(each.name, (t) => runCase(t, driver, each))
  })
}

async function runCase(t: TestContext, driver: DriverName, { proves, run }: CommandCase): Promise<void> {
  const succeeded = new Set<string>()
  const note = (args: readonly string[], { code }: Ran): void => {
    const called = commands.find(({ name, aliases = [] }) => [name, ...aliases].includes(args[0]!))
    if (called && code === 0) succeeded.add(called.name)
  }
  const place = async (): Promise<Place> => {
    const made = await placeWith(t, driver)
    return {
      ...made,
      async holdfast(args, settings) {
        const ran = await made.holdfast(args, settings)
        note(args, ran)
        return ran
      },
    }
  }
  const watched = (args: readonly string[], settings?: Settings): ReturnType<typeof start> => {
    const running = start(args, settings)
    return {
      ...running,
      ended: running.ended.then((ran) => {
        note(args, ran)
        return ran
      }),
    }
  }
  await run({ t, driver, place, start: watched })
  assert.deepEqual(
    proves.filter((name) => !succeeded.has(name)),
    [],
    'these commands did not end with exit code 0',
  )
}
