// npm run bench:cost: the cost of one job on Redis, counted and not timed: calls over the wire, commands inside the server,
// and the CPU of both sides. Where a target is missed, it shows the limit.

import { Queue } from 'holdfast'
import { RedisStorage } from 'holdfast/redis'
import { startRedis } from '../servers/redis.ts'
import type { RespClient } from '../servers/resp.ts'
import { payloadOf } from './load.ts'

interface Cost {
  /** Script calls: each is one round trip. */
  readonly calls: number
  /** Commands of all kinds, also those inside scripts. */
  readonly commands: number
  readonly serverMs: number
  readonly ownMs: number
}

const server = await startRedis()
const inspector = await server.connect()
const line = (...cells: readonly string[]): void =>
  console.log(cells.map((cell, index) => (index === 0 ? cell.padEnd(36) : cell.padStart(18))).join(''))

console.log('Cost of one job on a private Redis without persistence; µs of CPU.\n')
line('', 'round trips', 'commands', 'server µs', 'our µs')
try {
  for (const [concurrency, jobs, prefetchMs] of [
    [1, 5_000, undefined],
    [10, 20_000, undefined],
    [100, 20_000, undefined],
    // Each outcome is stored before its slot takes another job.
    [1, 5_000, false],
    [10, 20_000, false],
  ] as const) {
    await inspector.send('FLUSHALL')
    const storage = new RedisStorage({ url: server.url })
    const queue = new Queue<unknown, string>({ storage, concurrency, prefetchMs })
    await show(`add, 1,000 in flight`, jobs, () => fill(queue, jobs))
    await show(`drain, concurrency ${concurrency}${prefetchMs === false ? ', no prefetch' : ''}`, jobs, () =>
      drain(queue, jobs),
    )
    await queue.stop()
  }
  const [asking, working] = [1, 2].map(
    () => new Queue<unknown, string>({ storage: new RedisStorage({ url: server.url }) }),
  )
  working!.execute(() => 'done')
  await working!.start()
  await request(asking!, 'warm-up', 500)
  await show('request/response, serial', 2_000, () => request(asking!, 'asked', 2_000))
  await Promise.all([asking!.stop(), working!.stop()])
} finally {
  inspector.close()
  await server.stop()
}

async function fill(queue: Queue<unknown, string>, jobs: number): Promise<void> {
  for (let from = 0; from < jobs; from += 1_000) {
    await Promise.all(
      Array.from({ length: 1_000 }, (_, index) => queue.enqueue(`job-${from + index}`, payloadOf(from))),
    )
  }
}

async function drain(queue: Queue<unknown, string>, jobs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let completed = 0
  queue.execute(() => 'done')
  queue.on('completed', () => {
    if (++completed === jobs) resolve()
  })
  await queue.start()
  await promise
}

async function request(queue: Queue<unknown, string>, name: string, jobs: number): Promise<void> {
  for (let index = 0; index < jobs; index++) await queue.enqueueAndWait(`${name}-${index}`, payloadOf(index))
}

async function show(what: string, jobs: number, run: () => Promise<void>): Promise<void> {
  const before = await spent(inspector)
  await run()
  const after = await spent(inspector)
  const perJob = (of: keyof Cost, digits: number): string => ((after[of] - before[of]) / jobs).toFixed(digits)
  const micros = (of: keyof Cost): string => ((1_000 * (after[of] - before[of])) / jobs).toFixed(1)
  line(what, perJob('calls', 3), perJob('commands', 2), micros('serverMs'), micros('ownMs'))
}

async function spent(client: RespClient): Promise<Cost> {
  const stats = String(await client.send('INFO', 'commandstats'))
  const cpu = String(await client.send('INFO', 'cpu'))
  const seconds = (name: string): number => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(cpu)![1])
  const own = process.cpuUsage()
  return {
    calls: Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0),
    commands: [...stats.matchAll(/calls=(\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0),
    serverMs: 1_000 * (seconds('used_cpu_user') + seconds('used_cpu_sys')),
    ownMs: (own.user + own.system) / 1_000,
  }
}
