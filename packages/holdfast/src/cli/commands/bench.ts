import type { Clock } from '../../clock.ts'
import { Queue } from '../../queue/queue.ts'
import type { Storage } from '../../storage/storage.ts'
import { command } from '../command.ts'
import { UsageError } from '../usage-error.ts'

export const bench = command({
  name: 'bench',
  summary: 'measure how many jobs per second the storage takes and runs',
  details: [
    'It adds jobs to a queue of its own, runs empty handlers on them in this process, and leaves none of them.',
    'The figures are those of one process on this machine: run it where your workers run. It puts load on the server.',
  ],
  options: {
    jobs: { kind: 'integer', placeholder: 'n', summary: 'number of jobs, 1 … 1000000; default: 10000' },
    concurrency: { kind: 'integer', placeholder: 'n', summary: 'handlers at a time, 1 … 10000; default: 100' },
  },
  examples: [
    { line: 'holdfast bench --jobs 1000 --url sqlite:./jobs.db', does: 'a short look at a file' },
    { line: 'holdfast bench --jobs 100000 --concurrency 500 --json', does: 'the storage of the configuration' },
  ],
  async run({ storage, admin, options, out, host }) {
    const { jobs = 10_000, concurrency = 100 } = options
    if (jobs < 1 || jobs > 1_000_000) throw new UsageError('--jobs: expected 1 … 1000000.')
    if (concurrency < 1 || concurrency > 10_000) throw new UsageError('--concurrency: expected 1 … 10000.')
    const name = `holdfast-bench-${host.clock.newId()}`
    const { addMs, runMs, ran } = await measure(await storage(), {
      name,
      jobs,
      concurrency,
      clock: host.clock,
      ended: host.interruption(),
    })
    if (ran < jobs) {
      const handle = await admin()
      await handle.bulk.cancel({ face: 'queue', name }).result
      await handle.bulk.remove({ face: 'queue', name }).result
      out.note(`Interrupted after ${ran} of ${jobs} jobs. The others are removed.`)
      return 1
    }
    const figures = { jobs, concurrency, addedPerSecond: rate(jobs, addMs), ranPerSecond: rate(jobs, runMs) }
    if (out.isJson) out.json(figures)
    else {
      out.line(`added  ${jobs} jobs in ${Math.round(addMs)} ms, ${figures.addedPerSecond} per second`)
      out.line(
        `ran    ${jobs} jobs in ${Math.round(runMs)} ms, ${figures.ranPerSecond} per second, ${concurrency} at a time`,
      )
    }
    return 0
  },
})

interface Measured {
  readonly addMs: number
  readonly runMs: number
  /** Handlers that ran. Fewer than the jobs: it was interrupted. */
  readonly ran: number
}

interface MeasureOptions {
  readonly name: string
  readonly jobs: number
  readonly concurrency: number
  readonly clock: Clock
  readonly ended: AbortSignal
}

/** Jobs of one call. */
const batch = 1_000

async function measure(storage: Storage, { name, jobs, concurrency, clock, ended }: MeasureOptions): Promise<Measured> {
  const none = { ageMs: 0 }
  const queue = new Queue<number>({
    storage,
    name,
    concurrency,
    clock,
    // No record is left, and no worker is listed that is gone in a second.
    retention: { completed: none, failed: none, cancelled: none },
    presenceMs: false,
  })
  const over = Promise.withResolvers<void>()
  let ran = 0
  queue.execute(() => {
    if (++ran === jobs) over.resolve()
  })
  ended.addEventListener('abort', () => over.resolve(), { once: true })
  const startedAt = clock.monotonic()
  for (let start = 0; start < jobs && !ended.aborted; start += batch) {
    const items = Array.from({ length: Math.min(batch, jobs - start) }, (_, index) => ({
      id: `${start + index}`,
      payload: start + index,
    }))
    await queue.enqueueMany(items)
  }
  const addedAt = clock.monotonic()
  await queue.start()
  if (!ended.aborted) await over.promise
  // It returns when the last outcomes are stored: they are part of the time.
  await queue.stop()
  return { addMs: addedAt - startedAt, runMs: clock.monotonic() - addedAt, ran }
}

const rate = (jobs: number, ms: number): number => Math.round(jobs / (Math.max(1, ms) / 1_000))
