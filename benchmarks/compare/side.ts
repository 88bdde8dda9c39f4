// One of two processes that are compared: it loads Holdfast from a checkout and adds and drains jobs when it is told to.
//
//   node --conditions=@holdfast/source side.ts <root of the checkout> <driver> <url of the server>

import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Queue, Storage } from 'holdfast'
import { idOf, type Pace, type Payload, payloadOf, startClock } from '../load.ts'

export interface Turn {
  readonly jobs: number
  readonly concurrency: number
}

export interface TurnTaken {
  readonly add: Pace
  readonly drain: Pace
}

const inFlight = 100
const [root, driver, url] = process.argv.slice(2) as [string, string, string]
const require = createRequire(join(root, 'package.json'))
const load = async (name: string): Promise<Record<string, unknown>> =>
  (await import(pathToFileURL(require.resolve(name)).href)) as Record<string, unknown>

const holdfast = await load('holdfast')
const QueueOf = holdfast['Queue'] as typeof Queue
const storage = await openStorage()
const producer = new QueueOf<Payload, boolean>({ storage })
await producer.start()
let added = 0
let drained = 0

process.on('message', (turn: Turn) => {
  void takeTurn(turn).then((taken) => process.send!(taken))
})
process.on('disconnect', () => process.exit())
process.send!('ready')

async function takeTurn({ jobs, concurrency }: Turn): Promise<TurnTaken> {
  const last = added + jobs
  const stopAdding = startClock()
  const lane = async (): Promise<void> => {
    while (added < last) {
      const n = added++
      await producer.enqueue(idOf(n), payloadOf(n))
    }
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
  const add = stopAdding(jobs)
  return { add, drain: await drain(jobs, concurrency) }
}

async function drain(jobs: number, concurrency: number): Promise<Pace> {
  const worker = new QueueOf<Payload, boolean>({ storage, concurrency })
  const over = Promise.withResolvers<void>()
  const last = drained + jobs
  worker.execute(async () => true)
  worker.on('completed', () => {
    if (++drained === last) over.resolve()
  })
  const stop = startClock()
  await worker.start()
  await over.promise
  const pace = stop(jobs)
  // The storage stays open for the next turn.
  await worker.stop({ timeout: 0 })
  return pace
}

async function openStorage(): Promise<Storage> {
  if (driver === 'memory') return new (holdfast['MemoryStorage'] as new () => Storage)()
  const name = { sqlite: 'SqliteStorage', file: 'FileStorage', redis: 'RedisStorage', postgres: 'PostgresStorage' }[
    driver
  ]!
  const make = (await load(`holdfast/${driver}`))[name] as new (options: object) => Storage
  if (driver !== 'sqlite' && driver !== 'file') return new make({ url })
  try {
    return new make({ path: url })
  } catch (error) {
    if (driver !== 'file') throw error
    // Earlier versions of the file driver call it so.
    return new make({ directory: url })
  }
}
