// npm run bench:tasks-cost: what one message costs on Redis, counted and not timed: round trips, commands in the server, and
// the CPU of both sides, ours beside Fedify's queue. Where a ratio is missed, this shows what is in the way.

import { startRedis } from '../../servers/redis.ts'
import type { RespClient } from '../../servers/resp.ts'
import { queueContenders } from './contenders.ts'
import { fill, handleSome, messages, sendEach } from './measure.ts'
import type { MessageQueue } from 'holdfast/tasks'

interface Spent {
  /** Commands that came over the wire. */
  readonly received: number
  /** Of all kinds, those inside of scripts too. */
  readonly commands: number
  readonly serverMs: number
  readonly ownMs: number
}

const server = await startRedis()
const inspector = await server.connect()
const line = (...cells: readonly string[]): void =>
  console.log(cells.map((cell, index) => (index === 0 ? cell.padEnd(52) : cell.padStart(14))).join(''))

console.log('Of one message, on a private Redis without persistence; µs are of CPU.\n')
line('', 'sent', 'commands', 'server µs', 'our µs')
try {
  for (const contender of queueContenders.filter(({ driver }) => driver === 'redis')) {
    await inspector.send('FLUSHALL')
    const { queue, close } = await contender.open('', server.url)
    const name = (what: string): string => `${contender.name}: ${what}`
    await sendEach(queue, 2_000, 100)
    await show(name('enqueue, one at a time'), 5_000, () => sendEach(queue, 5_000, 1))
    await show(name('enqueue, 100 in flight'), 20_000, () => sendEach(queue, 20_000, 100))
    await show(name('enqueueMany of 100'), 50_000, () => inHundreds(queue, 50_000))
    await close()
    await inspector.send('FLUSHALL')
    const handled = await contender.open('', server.url)
    await fill(handled.queue, 3_000)
    await show(name('handle, 3,000 waiting'), 2_000, () => handleSome(handled.queue, 2_000))
    await handled.close()
  }
} finally {
  inspector.close()
  await server.stop()
}
process.exit(0)

async function inHundreds(queue: MessageQueue, count: number): Promise<void> {
  for (let left = count; left > 0; left -= 100) await queue.enqueueMany!(messages(100))
}

async function show(what: string, count: number, run: () => Promise<unknown>): Promise<void> {
  const before = await spent(inspector)
  await run()
  const after = await spent(inspector)
  const each = (of: keyof Spent, digits: number): string => ((after[of] - before[of]) / count).toFixed(digits)
  const micros = (of: keyof Spent): string => ((1_000 * (after[of] - before[of])) / count).toFixed(1)
  line(what, each('received', 3), each('commands', 2), micros('serverMs'), micros('ownMs'))
}

async function spent(client: RespClient): Promise<Spent> {
  const stats = String(await client.send('INFO', 'commandstats'))
  const all = String(await client.send('INFO', 'cpu')) + String(await client.send('INFO', 'stats'))
  const value = (name: string): number => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(all)![1])
  const own = process.cpuUsage()
  return {
    received: value('total_commands_processed'),
    commands: [...stats.matchAll(/calls=(\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0),
    serverMs: 1_000 * (value('used_cpu_user') + value('used_cpu_sys')),
    ownMs: (own.user + own.system) / 1_000,
  }
}
