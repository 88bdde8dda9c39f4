// npm run bench:tasks -- [--driver sqlite] [--case enqueue] [--rounds 3] [--seconds 2] [--backlog 100000] [--write]
//
// Message queues compared: rates of enqueue, batch, handle and delivery, and the cost of one message with few and with many
// waiting. The contenders alternate in every case of every round; medians are shown, with ratios per round.
// --case runs the cases with this text in their names. --write updates docs/benchmarks-tasks.md.

import { chmodSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { helpFromHeadComment } from '../../scripts/help.ts'
import { startPostgres } from '../../servers/postgres.ts'
import { startRedis } from '../../servers/redis.ts'
import { newWorkingDirectory, removeDirectory } from '../place.ts'
import { cases } from './cases.ts'
import { inFolder, type QueueContender, queueContenders, queueDrivers } from './contenders.ts'
import { passOverCancelled } from './peer-rejections.ts'
import { report } from './report.ts'

helpFromHeadComment(import.meta.url)

const { values } = parseArgs({
  options: {
    driver: { type: 'string', multiple: true, default: [...queueDrivers] },
    case: { type: 'string', multiple: true, default: [''] },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '2' },
    backlog: { type: 'string', default: '100000' },
    write: { type: 'boolean', default: false },
  },
})
const [rounds, seconds, backlog] = [Number(values.rounds), Number(values.seconds), Number(values.backlog)]

/** The file driver keeps its backlog in memory and in files, and Fedify's queue on Postgres uses one commit per message. */
const fewer = { file: true, postgres: true }

const directory = newWorkingDirectory()
// On the disk where a sync has its real cost; and the server may have to run as another user.
process.env['TMPDIR'] = directory
chmodSync(directory, 0o755)
const contenders = queueContenders.filter(({ driver }) => values.driver.includes(driver))
const chosen = cases.filter(({ name }) => values.case.some((text) => name.includes(text)))
const results = new Map(contenders.map((contender) => [contender, new Map<string, number[]>()]))

let current: QueueContender | undefined
passOverCancelled(() => current?.isPeer === true)

/** Uses its own server: data of other contenders would slow it down. */
async function measure(contender: QueueContender, item: (typeof cases)[number]): Promise<number> {
  current = contender
  const { folder, remove } = inFolder(directory)
  const redis = contender.driver === 'redis' ? await startRedis() : undefined
  const postgres = contender.driver === 'postgres' ? await startPostgres({ fsync: true }) : undefined
  const where = { folder, redisUrl: redis?.url ?? '', postgresUrl: postgres?.url ?? '' }
  const { queue, close } = await contender.open(where, item.concurrency)
  try {
    return await item.run(queue, seconds, contender.driver in fewer ? backlog / 10 : backlog)
  } finally {
    await close()
    await redis?.stop()
    await postgres?.stop()
    remove()
  }
}

try {
  for (let round = 1; round <= rounds; round++) {
    for (const driver of new Set(contenders.map((contender) => contender.driver))) {
      console.error(`round ${round}: ${driver}`)
      for (const item of chosen) {
        for (const contender of contenders.filter((one) => one.driver === driver)) {
          const kept = results.get(contender)!
          kept.set(item.name, [...(kept.get(item.name) ?? []), await measure(contender, item)])
        }
      }
    }
  }
  const command = ['npm run bench:tasks --', ...process.argv.slice(2).filter((arg) => arg !== '--write')].join(' ')
  const { head, tables } = report(results, { backlog, rounds, command })
  console.log(tables)
  if (values.write) writeFileSync(new URL('../../docs/benchmarks-tasks.md', import.meta.url), head + tables)
} finally {
  removeDirectory(directory)
}
process.exit(0)
