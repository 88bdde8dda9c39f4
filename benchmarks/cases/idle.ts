// idle: the cost of idle workers. Poll and lease are 60 s, so workers should sleep until a hint.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Case, Measure, Variant } from '../case.ts'
import { type Contender, usualSettings } from '../contender.ts'
import type { Limits } from '../load.ts'
import { newPlace } from '../place.ts'

/** Time for work that happens only at the start, ms. */
const settleMs = 1_000
/** Multiple of the usual seconds. */
const secondsFactor = 3

export const idle: Case = {
  name: 'idle',
  about:
    'Storage calls and CPU of idle workers; poll interval and lease 60 s. Redis: commands that the server ' +
    'executed, those inside scripts included. Postgres: statements that the server executed.',
  variants: [workers('1 worker', 1), workers('100 workers', 100)],
}

function workers(name: string, count: number): Variant {
  return { name, run: (contender, limits) => measure(contender, count, limits) }
}

async function measure(contender: Contender, count: number, limits: Limits): Promise<readonly Measure[]> {
  const seconds = secondsFactor * limits.seconds
  const session = await contender.setup(
    { ...usualSettings, pollSeconds: 60, leaseMs: 60_000, countCalls: true },
    newPlace(),
  )
  const nothing = { onStart() {}, onCompleted() {} }
  for (let index = 0; index < count; index++) await session.consume(10, nothing)
  await sleep(settleMs)
  globalThis.gc?.()
  const before = { ...(await session.calls()) }
  const cpuBefore = process.cpuUsage()
  await sleep(seconds * 1_000)
  const { user, system } = process.cpuUsage(cpuBefore)
  const made = Object.entries(await session.calls()).map(
    ([verb, calls]) => [verb, calls - (before[verb] ?? 0)] as const,
  )
  const some = made.filter(([, calls]) => calls > 0)
  await session.close()
  return [
    {
      name: 'storage calls',
      unit: 'calls',
      value: some.reduce((sum, [, calls]) => sum + calls, 0),
      note: [`in ${seconds} s`, ...some.map(([verb, calls]) => `${verb} ${calls}`)].join(', '),
    },
    { name: 'CPU', unit: 'ms CPU/s', value: (user + system) / 1_000 / seconds },
  ]
}
