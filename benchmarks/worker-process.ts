// The worker's process. Started by worker.ts, which sends it Commands and is sent Reports.

import { contenderIn, type Session } from './contender.ts'
import { Work } from './load.ts'
import type { Order } from './worker.ts'

export type Command =
  | ({ readonly kind: 'open'; readonly file: string; readonly place: string } & Order)
  | { readonly kind: 'expect'; readonly jobs: number }
  | { readonly kind: 'close' }

export type Report =
  | { readonly kind: 'opened' }
  /** Since the last such report. */
  | { readonly kind: 'completed'; readonly jobs: number }
  | { readonly kind: 'over'; readonly completed: number; readonly cpuMs: number }
  | { readonly kind: 'closed'; readonly latencies: readonly number[] }
  | { readonly kind: 'failed'; readonly reason: string }

/** A message for each completion would be measured too: so many of them, or so long after the first. */
const [fewestReported, reportMs] = [50, 5]

let session: Session | undefined
let work: Work | undefined
let unreported = 0
let timer: NodeJS.Timeout | undefined

process.on('message', (command) => {
  heed(command as Command).catch((error: unknown) =>
    tell({ kind: 'failed', reason: error instanceof Error ? error.message : String(error) }),
  )
})
// Without whom it works for, it has no business.
process.on('disconnect', () => process.exit(0))

async function heed(command: Command): Promise<void> {
  if (command.kind === 'open') await open(command)
  else if (command.kind === 'expect') work!.tally.expect(command.jobs)
  else await close()
}

async function open({ file, place, settings, concurrency, limits }: Extract<Command, { kind: 'open' }>): Promise<void> {
  const contender = await contenderIn(file)
  globalThis.gc?.()
  session = await contender.setup(settings, place)
  const cpuBegun = process.cpuUsage()
  work = new Work(limits, onCompleted)
  await session.consume(concurrency, work)
  tell({ kind: 'opened' })
  const completed = await work.tally.over()
  const { user, system } = process.cpuUsage(cpuBegun)
  tell({ kind: 'over', completed, cpuMs: (user + system) / 1_000 })
}

function onCompleted(): void {
  unreported++
  // Not by the timer alone: a contender may work off a whole queue before timers get their turn.
  if (unreported >= fewestReported) report()
  else timer ??= setTimeout(report, reportMs)
}

function report(): void {
  clearTimeout(timer)
  timer = undefined
  tell({ kind: 'completed', jobs: unreported })
  unreported = 0
}

async function close(): Promise<void> {
  await session!.close()
  clearTimeout(timer)
  timer = undefined
  unreported = 0
  work!.tally.verify()
  tell({ kind: 'closed', latencies: work!.latencies })
}

function tell(message: Report): void {
  process.send!(message)
}
