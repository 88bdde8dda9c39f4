// One of the worker processes of the case limits. Started by workers.ts, which sends Commands and receives Reports.

import { setTimeout as sleep } from 'node:timers/promises'
import { contenderIn } from '../contender.ts'
import { type Limit, limitedOf, type LimitedSession, slotsPerProcess } from './limited.ts'
import type { Run } from './records.ts'

export type Command =
  | { readonly kind: 'open'; readonly file: string; readonly place: string; readonly limit: Limit }
  | { readonly kind: 'work'; readonly handlerMs: number }
  | { readonly kind: 'stop' }

export type Report =
  | { readonly kind: 'opened' }
  /** All runs of the process so far. */
  | { readonly kind: 'done'; readonly runs: number }
  | { readonly kind: 'stopped'; readonly runs: readonly Run[] }
  | { readonly kind: 'failed'; readonly reason: string }

const reportMs = 50

let session: LimitedSession | undefined
const runs: Run[] = []

process.on('message', (command) => {
  heed(command as Command).catch((error: unknown) =>
    send({ kind: 'failed', reason: error instanceof Error ? error.message : String(error) }),
  )
})
process.on('disconnect', () => process.exit(0))

async function heed(command: Command): Promise<void> {
  if (command.kind === 'open') {
    session = await limitedOf(await contenderIn(command.file))!.open(command.limit, command.place)
    send({ kind: 'opened' })
  } else if (command.kind === 'work') {
    await work(command.handlerMs)
  } else {
    await session!.close()
    send({ kind: 'stopped', runs })
  }
}

async function work(handlerMs: number): Promise<void> {
  setInterval(() => send({ kind: 'done', runs: runs.length }), reportMs).unref()
  await session!.work(slotsPerProcess, async ({ n, group }) => {
    const startedAt = machineNow()
    await sleep(handlerMs)
    runs.push({ n, group, startedAt, endedAt: machineNow() })
  })
}

/** Ms of the machine's monotonic clock, which all its processes share. */
function machineNow(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

function send(report: Report): void {
  // The parent may be gone: then this process ends too, by 'disconnect'.
  process.send!(report, undefined, undefined, () => {})
}
