// The worker process. Started by worker.ts, which sends Commands and receives Reports.

import { contenderIn, type Session } from './contender.ts'
import { Work } from './load.ts'
import type { Order } from './worker.ts'

export type Command =
  | ({ readonly kind: 'open'; readonly file: string; readonly place: string; readonly waits?: true } & Order)
  /** Begins the work of a process that was opened with `waits`: several begin at the same time. */
  | { readonly kind: 'begin' }
  | { readonly kind: 'expect'; readonly jobs: number }
  | { readonly kind: 'cpu' }
  /** Ends the work with what has completed: other processes have run the rest. */
  | { readonly kind: 'end' }
  | { readonly kind: 'close' }

export type Report =
  | { readonly kind: 'opened' }
  /** Since the work began. */
  | { readonly kind: 'cpu'; readonly cpuMs: number }
  /** Completions since the last report. */
  | { readonly kind: 'completed'; readonly jobs: number }
  | { readonly kind: 'over'; readonly completed: number; readonly cpuMs: number }
  /** `ran`: the numbers of the jobs that ran, if the work was ended by the parent. */
  | { readonly kind: 'closed'; readonly latencies: readonly number[]; readonly ran: readonly number[] }
  | { readonly kind: 'failed'; readonly reason: string }

/** A message per completion would be measured too: report after this many, or this many ms after the first. */
const [fewestReported, reportMs] = [50, 5]

let session: Session | undefined
let work: Work | undefined
let begin = Promise.withResolvers<void>()
let cpuBegun: NodeJS.CpuUsage | undefined
let isEnded = false
let unreported = 0
let timer: NodeJS.Timeout | undefined

process.on('message', (command) => {
  handle(command as Command).catch((error: unknown) =>
    send({ kind: 'failed', reason: error instanceof Error ? error.message : String(error) }),
  )
})
// Exit with the parent process.
process.on('disconnect', () => process.exit(0))

async function handle(command: Command): Promise<void> {
  if (command.kind === 'open') await open(command)
  else if (command.kind === 'expect') work!.tally.expect(command.jobs)
  else if (command.kind === 'cpu') send({ kind: 'cpu', cpuMs: cpuMs() })
  else if (command.kind === 'end') endWork()
  else if (command.kind === 'begin') begin.resolve()
  else await close()
}

async function open(command: Extract<Command, { kind: 'open' }>): Promise<void> {
  const { file, place, settings, concurrency, limits, waits } = command
  const contender = await contenderIn(file)
  isEnded = false
  session = await contender.setup(settings, place)
  if (waits) {
    begin = Promise.withResolvers<void>()
    send({ kind: 'opened' })
    await begin.promise
  }
  cpuBegun = process.cpuUsage()
  work = new Work(limits, onCompleted)
  await session.consume(concurrency, work)
  if (!waits) send({ kind: 'opened' })
  const completed = await work.tally.over()
  send({ kind: 'over', completed, cpuMs: cpuMs() })
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage(cpuBegun)
  return (user + system) / 1_000
}

function onCompleted(): void {
  unreported++
  // Not by the timer only: a contender may drain a whole queue before timers run.
  if (unreported >= fewestReported) report()
  else timer ??= setTimeout(report, reportMs)
}

function report(): void {
  clearTimeout(timer)
  timer = undefined
  send({ kind: 'completed', jobs: unreported })
  unreported = 0
}

function endWork(): void {
  isEnded = true
  work!.tally.end()
}

async function close(): Promise<void> {
  await session!.close()
  clearTimeout(timer)
  timer = undefined
  unreported = 0
  work!.tally.verify()
  // The parent joins them: it knows how many jobs there are.
  if (isEnded) send({ kind: 'closed', latencies: [], ran: work!.tally.ran() })
  else send({ kind: 'closed', latencies: work!.latencies, ran: [] })
}

function send(message: Report): void {
  process.send!(message)
}
