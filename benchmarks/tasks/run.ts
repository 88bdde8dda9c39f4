// npm run bench:tasks -- [--driver sqlite] [--rounds 3] [--seconds 2] [--backlog 100000] [--write]
//
// Message queues side by side: rates of enqueue, batch and handle, and what one message costs with few and with many waiting.
// The contenders take turns in every round; medians are shown. --write puts the table into docs/benchmarks-tasks.md.

import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { startRedis } from '../../servers/redis.ts'
import { describeDisk, newWorkingDirectory, removeDirectory } from '../place.ts'
import { thisMachine } from '../results.ts'
import { median } from '../statistics.ts'
import { inFolder, type QueueContender, queueContenders } from './contenders.ts'
import { batchRate, enqueueMs, enqueueRate, fill, handleRate } from './measure.ts'

const { values } = parseArgs({
  options: {
    driver: { type: 'string', multiple: true, default: ['memory', 'file', 'sqlite', 'redis'] },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '2' },
    backlog: { type: 'string', default: '100000' },
    write: { type: 'boolean', default: false },
  },
})
const [rounds, seconds, backlog] = [Number(values.rounds), Number(values.seconds), Number(values.backlog)]

const cases = [
  'enqueue, one at a time (messages/s)',
  'enqueue, 100 in flight (messages/s)',
  'enqueueMany of 100 (messages/s)',
  'handle, 10,000 waiting (messages/s)',
  'one enqueue, 1,000 waiting (ms)',
  'one enqueue, many waiting (ms)',
  'one handled, 1,000 waiting (ms)',
  'one handled, many waiting (ms)',
] as const
type CaseName = (typeof cases)[number]

const directory = newWorkingDirectory()
const redis = await startRedis()
const contenders = queueContenders.filter(({ driver }) => values.driver.includes(driver))
const results = new Map(contenders.map((contender) => [contender, new Map<CaseName, number[]>()]))

async function withQueue<T>(
  contender: QueueContender,
  run: (queue: Awaited<ReturnType<QueueContender['open']>>['queue']) => Promise<T>,
): Promise<T> {
  const { folder, remove } = inFolder(directory)
  const { queue, close } = await contender.open(folder, redis.url)
  try {
    return await run(queue)
  } finally {
    await close()
    remove()
  }
}

async function measure(contender: QueueContender): Promise<Record<CaseName, number>> {
  const few = 1_000
  // The file driver keeps its backlog in memory and in files: a tenth is plenty.
  const many = contender.driver === 'file' ? backlog / 10 : backlog
  const drained = await withQueue(contender, async (queue) => {
    await fill(queue, 10_000)
    return handleRate(queue, 9_000, seconds)
  })
  const cost = (waiting: number) =>
    withQueue(contender, async (queue) => {
      await fill(queue, waiting)
      return { enqueue: await enqueueMs(queue, 200), handle: 1_000 / (await handleRate(queue, 500, seconds)) }
    })
  const [atFew, atMany] = [await cost(few), await cost(many)]
  return {
    'enqueue, one at a time (messages/s)': await withQueue(contender, (queue) => enqueueRate(queue, 1, seconds)),
    'enqueue, 100 in flight (messages/s)': await withQueue(contender, (queue) => enqueueRate(queue, 100, seconds)),
    'enqueueMany of 100 (messages/s)': await withQueue(contender, (queue) => batchRate(queue, seconds)),
    'handle, 10,000 waiting (messages/s)': drained,
    'one enqueue, 1,000 waiting (ms)': atFew.enqueue,
    'one enqueue, many waiting (ms)': atMany.enqueue,
    'one handled, 1,000 waiting (ms)': atFew.handle,
    'one handled, many waiting (ms)': atMany.handle,
  }
}

for (let round = 1; round <= rounds; round++) {
  for (const contender of contenders) {
    console.error(`round ${round}: ${contender.driver}, ${contender.name}`)
    const measured = await measure(contender)
    const kept = results.get(contender)!
    for (const name of cases) kept.set(name, [...(kept.get(name) ?? []), measured[name]])
  }
}

const figure = (value: number): string => (value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3))
const lines: string[] = []
for (const driver of new Set(contenders.map((contender) => contender.driver))) {
  const here = contenders.filter((contender) => contender.driver === driver)
  lines.push(
    `## ${driver}`,
    '',
    `| | ${here.map(({ name }) => name).join(' | ')} |`,
    `|---|${here.map(() => '--:|').join('')}`,
  )
  for (const name of cases) {
    const figures = here.map((contender) => figure(median(results.get(contender)!.get(name)!)))
    lines.push(`| ${name} | ${figures.join(' | ')} |`)
  }
  lines.push('')
}
const { cores, cpu, node } = thisMachine()
const command = ['npm run bench:tasks --', ...process.argv.slice(2).filter((arg) => arg !== '--write')].join(' ')
const head = [
  '# Benchmarks: message queues',
  '',
  '<!-- Written by npm run bench:tasks -- --write. -->',
  '',
  'Message queues side by side, ours beside those of Fedify, each with its defaults (ours: 10 handlers at a time; theirs: one), the',
  'contenders in turns. **Read the ratios, not the figures.** Ours on SQLite survives a power cut (full) unless it says relaxed.',
  `Many waiting: ${backlog.toLocaleString('en')}; for the file driver a tenth. Peers are the newest versions with a queue in the registry that was used.`,
  '',
  `${cores} cores, ${cpu}, Node ${node}, Redis on the same machine; on disk: ${describeDisk()}; ${rounds} rounds, medians; \`${command}\`.`,
  '',
]
console.log(lines.join('\n'))
if (values.write) {
  writeFileSync(new URL('../../docs/benchmarks-tasks.md', import.meta.url), [...head, ...lines].join('\n'))
}
await redis.stop()
removeDirectory(directory)
process.exit(0)
