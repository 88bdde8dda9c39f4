// Runs the conformance suite on a driver: every case, then random histories compared with the model.
//
//   npm run conformance -- --driver memory --runs 50000
//   npm run conformance -- --driver cluster --client ioredis5          the client library for Redis
//   npm run conformance -- --driver redis-live                         in real time: three and a half minutes
//   npm run conformance -- --driver memory --seed 7 --path 12:3:0      repeats a history that failed
//   npm run conformance -- --driver memory --with sqlite,redis         the same histories on all of them, compared after each command
//   npm run conformance -- --driver redis --concurrent                 three clients at a time: some order must explain their answers
//
// Exit 0: clean. 1: a case failed, or the model found a violation. 2: wrong usage, or the run could not start.

import { parseArgs } from 'node:util'
import { cases, runCase } from '../packages/conformance/src/index.ts'
import { testConcurrent } from '../packages/conformance/src/model/concurrent.ts'
import { testDifferential } from '../packages/conformance/src/model/differential.ts'
import { ModelViolation, testModel } from '../packages/conformance/src/model/model.ts'
import { drivers } from '../packages/holdfast/test/drivers.ts'
import { stopPostgres } from '../packages/holdfast/test/postgres-subject.ts'
import { type ClientName, clientNames, stopPlaces } from '../packages/holdfast/test/redis-places.ts'
import { findValkey } from '../servers/find.ts'
import { helpFromHeadComment } from './help.ts'

const usage = `usage: npm run conformance -- --driver ${Object.keys(drivers).join('|')} [--client ${clientNames.join('|')}] [--with DRIVER,…] [--concurrent] [--runs N] [--seed S] [--path P]`

helpFromHeadComment(import.meta.url, usage)

/** The drivers that use a client library. */
const redisDrivers = ['redis', 'redis-live', 'cluster', 'valkey']

class UsageError extends Error {}

interface Options {
  readonly driver: string
  readonly client: ClientName | undefined
  /** Drivers to compare it with. */
  readonly others: readonly string[]
  readonly isConcurrent: boolean
  readonly runs: number
  readonly seed: number | undefined
  readonly path: string | undefined
}

function readOptions(): Options {
  const string = { type: 'string' } as const
  const read = () =>
    parseArgs({
      options: {
        driver: string,
        client: string,
        with: string,
        concurrent: { type: 'boolean' },
        runs: string,
        seed: string,
        path: string,
      },
    }).values
  let values: ReturnType<typeof read>
  try {
    values = read()
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
  const { driver = 'memory', client, path } = values
  if (!Object.hasOwn(drivers, driver))
    throw new UsageError(`driver: expected ${Object.keys(drivers).join(' or ')}, got "${driver}"`)
  const others = values.with?.split(',') ?? []
  for (const other of others)
    if (!Object.hasOwn(drivers, other)) throw new UsageError(`with: there is no driver "${other}"`)
  const isConcurrent = values.concurrent === true
  if (driver === 'valkey' && !findValkey())
    throw new UsageError('driver: valkey needs VALKEY_SERVER, which is not set. Set it to the path of a valkey-server')
  if (client !== undefined && !redisDrivers.includes(driver))
    throw new UsageError(
      `client: expected none with driver "${driver}", got "${client}". Only ${redisDrivers.join(', ')} have one`,
    )
  if (client !== undefined && !clientNames.includes(client as ClientName))
    throw new UsageError(`client: expected ${clientNames.join(' or ')}, got "${client}"`)
  const seed = values.seed === undefined ? undefined : integer('seed', values.seed)
  if (path !== undefined && seed === undefined) throw new UsageError('path: expected --seed beside it')
  const runs = integer('runs', values.runs ?? (path === undefined ? '2000' : '1'))
  return { driver, client: client as ClientName | undefined, others, isConcurrent, runs, seed, path }
}

function integer(name: string, text: string): number {
  if (!/^-?\d+$/.test(text)) throw new UsageError(`${name}: expected an integer, got "${text}"`)
  return Number(text)
}

/** Returns the number of cases that failed. */
async function runCases({ driver, client }: Options): Promise<number> {
  const create = () => drivers[driver]!(client)
  const probe = await create()
  const { features } = probe.storage
  await probe.close?.()
  let [passed, failed, skipped] = [0, 0, 0]
  for (const [verb, list] of Object.entries(cases)) {
    for (const item of list) {
      const missing = item.needs?.find((feature) => !features[feature])
      if (missing !== undefined) {
        skipped++
        console.log(`skipped ${verb}: ${item.name} (no ${missing})`)
        continue
      }
      try {
        await runCase(item, create)
        passed++
      } catch (error) {
        failed++
        console.error(`FAILED ${verb}: ${item.name}\n${indent((error as Error).message)}`)
      }
    }
  }
  console.log(`conformance: ${driver}: ${passed} cases passed, ${failed} failed, ${skipped} skipped`)
  return failed
}

async function runModel({ driver, client, runs, seed, path }: Options): Promise<boolean> {
  try {
    const done = await testModel({ create: () => drivers[driver]!(client), runs, seed, path, log: console.log })
    console.log(`model: ${driver}: ${done.runs} histories, ${done.commands} commands, seed ${done.seed}: clean`)
    return true
  } catch (error) {
    if (!(error instanceof ModelViolation)) throw error
    console.error(`model: ${driver}: VIOLATION: ${error.message}`)
    const chosen = client === undefined ? driver : `${driver} --client ${client}`
    console.error(`repeat: npm run conformance -- --driver ${chosen} --seed ${error.seed} --path ${error.path}`)
    return false
  }
}

/** The differential or the concurrent test: no cases, and no shrunk history of one driver. */
async function runTogether({
  driver,
  client,
  others,
  isConcurrent,
  runs,
  path,
  ...options
}: Options): Promise<boolean> {
  const seed = options.seed ?? Math.floor(Math.random() * 2 ** 31)
  const create = (name: string) => () => drivers[name]!(client)
  const name = isConcurrent ? `concurrent: ${driver}` : `differential: ${[driver, ...others].join(', ')}`
  try {
    const done = isConcurrent
      ? await testConcurrent({ create: create(driver), passesOver: isPostgres(driver), runs, seed, path })
      : await testDifferential({
          create: Object.fromEntries([driver, ...others].map((each) => [each, create(each)])),
          runs,
          seed,
          path,
        })
    console.log(`${name}: ${JSON.stringify(done)}, seed ${seed}: clean`)
    return true
  } catch (error) {
    console.error(`${name}: VIOLATION: ${(error as Error).message}`)
    return false
  }
}

const isPostgres = (driver: string): boolean => ['postgres', 'postgres-js', 'pgbouncer'].includes(driver)

const indent = (text: string): string => text.replace(/^/gm, '    ')

try {
  const options = readOptions()
  if (options.isConcurrent || options.others.length > 0) process.exitCode = (await runTogether(options)) ? 0 : 1
  else {
    // With a path, run only that history.
    const failed = options.path === undefined ? await runCases(options) : 0
    const clean = await runModel(options)
    process.exitCode = failed === 0 && clean ? 0 : 1
  }
} catch (error) {
  console.error(error instanceof UsageError ? `${error.message}\n${usage}` : error)
  process.exitCode = 2
} finally {
  await Promise.all([stopPlaces(), stopPostgres()])
}
