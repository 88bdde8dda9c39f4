// npm run bench:tasks-cost -- [--driver redis]: the cost of one message, counted and not timed: bytes and calls over the wire or to
// the disk, and the CPU, beside Fedify's queues. Where a ratio is missed, it shows the limit.

import { chmodSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { helpFromHeadComment } from '../../scripts/help.ts'
import { startPostgres } from '../../servers/postgres.ts'
import { startRedis } from '../../servers/redis.ts'
import { newWorkingDirectory, removeDirectory } from '../place.ts'
import type { MessageQueue } from 'holdfast/tasks'
import { inFolder, type QueueContender, queueContenders } from './contenders.ts'
import { type Counter, diskCounter, postgresCounter, redisCounter } from './counters.ts'
import { fill, handleSome, messages, sendEach } from './measure.ts'
import { passOverCancelled } from './peer-rejections.ts'

helpFromHeadComment(import.meta.url)

const { values } = parseArgs({
  options: { driver: { type: 'string', multiple: true, default: ['sqlite', 'redis', 'postgres'] } },
})
const has = (driver: string): boolean => values.driver.includes(driver)
const directory = newWorkingDirectory()
process.env['TMPDIR'] = directory
chmodSync(directory, 0o755)
const redis = has('redis') ? await startRedis() : undefined
const postgres = has('postgres') ? await startPostgres() : undefined

let current: QueueContender | undefined
passOverCancelled(() => current?.isPeer === true)

/** The number of messages and how they are sent or handled. */
const parts: readonly (readonly [
  name: string,
  count: number,
  run: (queue: MessageQueue, count: number) => Promise<void>,
])[] = [
  ['enqueue, one at a time', 1_000, (queue, count) => sendEach(queue, count, 1)],
  ['enqueue, 100 in flight', 10_000, (queue, count) => sendEach(queue, count, 100)],
  ['enqueueMany of 100', 10_000, inHundreds],
]

try {
  for (const driver of values.driver) {
    const contenders = queueContenders.filter((contender) => contender.driver === driver)
    const counter =
      driver === 'redis'
        ? await redisCounter(redis!)
        : driver === 'postgres'
          ? postgresCounter(postgres!.url)
          : diskCounter()
    console.log(`\n${driver}, per message\n`)
    line('', ...counter.names, 'own CPU µs')
    for (const contender of contenders) await costs(contender, counter)
    await counter.close()
  }
} finally {
  await redis?.stop()
  await postgres?.stop()
  removeDirectory(directory)
}
process.exit(0)

async function costs(contender: QueueContender, counter: Counter): Promise<void> {
  current = contender
  const { folder, remove } = inFolder(directory)
  const where = { folder, redisUrl: redis?.url ?? '', postgresUrl: postgres?.url ?? '' }
  for (const [name, count, run] of parts) {
    const { queue, close } = await contender.open(where)
    await run(queue, count / 5)
    await show(`${contender.name}: ${name}`, count, counter, () => run(queue, count))
    await close()
  }
  for (const concurrency of [1, 10]) {
    const { queue, close } = await contender.open(where, concurrency)
    await fill(queue, 1_500)
    const name = contender.isPeer ? 'handle' : `handle, ${concurrency} at a time`
    await show(`${contender.name}: ${name}`, 1_000, counter, () => handleSome(queue, 1_000))
    await close()
    if (contender.isPeer) break
  }
  remove()
}

async function inHundreds(queue: MessageQueue, count: number): Promise<void> {
  for (let left = count; left > 0; left -= 100) await queue.enqueueMany!(messages(100))
}

async function show(what: string, count: number, counter: Counter, run: () => Promise<void>): Promise<void> {
  const before = await counter.read()
  const cpu = process.cpuUsage()
  await run()
  const { user, system } = process.cpuUsage(cpu)
  const after = await counter.read()
  line(what, ...after.map((value, index) => figure((value - before[index]!) / count)), figure((user + system) / count))
}

function figure(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

function line(...cells: readonly string[]): void {
  console.log(cells.map((cell, index) => (index === 0 ? cell.padEnd(52) : cell.padStart(16))).join(''))
}
