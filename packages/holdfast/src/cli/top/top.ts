// What `holdfast top` knows, and what its keys do. It draws nothing: draw.ts does.

import type { Admin } from '../../admin/admin.ts'
import type { NamedType } from '../../admin/options.ts'
import type { Clock } from '../../clock.ts'
import type { JobItem } from '../../engine/operate/job-item.ts'
import type { TypeSummary } from '../../engine/operate/type-summary.ts'
import type { WorkerInfo } from '../../engine/work/presence.ts'
import { asError } from '../../error-details.ts'
import { counted } from '../../count-text.ts'
import { typeText } from '../find-type.ts'
import { RateMeter, type Rates } from './rates.ts'

export interface Failure {
  readonly job: JobItem
  readonly message: string
}

/** One sight of the storage. */
export interface TopView {
  readonly driver: string
  readonly now: number
  /** Those that need attention first. */
  readonly types: readonly TypeSummary[]
  readonly workers: readonly WorkerInfo[]
  /** Jobs that run, by the label of their worker. Absent: too many run to read them. */
  readonly running?: Readonly<Record<string, number>>
  readonly failures: readonly Failure[]
  readonly rates: Rates
  /** Index of the type that keys act on. */
  readonly selected: number
  /** The type that is shown alone. */
  readonly opened?: TypeSummary
  /** What the operator is asked, or was told. */
  readonly message?: string
  /** Epoch ms of the last look that succeeded: the figures are of then. Absent: none has. */
  readonly readAt?: number
  /** Why the last look failed. */
  readonly outage?: string
}

/** Failures, and running jobs, that are read. */
const [mostFailures, mostRunning] = [10, 200]
/** Up to so many failed jobs the newest are found by sorting them. Of more, some are shown. */
const mostSorted = 2_000

export class Top {
  /** True once the operator left. */
  isOver = false
  readonly #admin: Admin
  readonly #clock: Clock
  readonly #driver: string
  readonly #meter = new RateMeter()
  #types: readonly TypeSummary[] = []
  #workers: readonly WorkerInfo[] = []
  #running: Readonly<Record<string, number>> | undefined
  #failures: readonly Failure[] = []
  /** Of the failures that were read: nothing changed while it is the same. */
  #failuresOf = ''
  #selected: NamedType | undefined
  #isOpened = false
  #message: string | undefined
  /** The message of a failed look: it goes when one succeeds. */
  #outage: string | undefined
  #readAt: number | undefined
  /** What `y` does. */
  #question: (() => Promise<string>) | undefined

  constructor(admin: Admin, clock: Clock, driver: string) {
    this.#admin = admin
    this.#clock = clock
    this.#driver = driver
  }

  /** Reads the storage. Never rejects: a failure is shown. */
  async refresh(): Promise<void> {
    try {
      // The first call begins to count, and so must come before the first sight.
      const counters = await this.#admin.counters()
      this.#types = (await this.#admin.types()).toSorted(byAttention)
      this.#workers = await this.#admin.workers()
      this.#meter.look(this.#types, counters, this.#clock.monotonic())
      await this.#readRunning()
      await this.#readFailures()
      if (this.#message !== undefined && this.#message === this.#outage) this.#message = undefined
      this.#outage = undefined
      this.#readAt = this.#clock.now()
    } catch (thrown) {
      this.#message = this.#outage = `The storage does not answer: ${asError(thrown).message}`
    }
  }

  view(): TopView {
    const selected = Math.max(
      0,
      this.#types.findIndex((type) => isSame(type, this.#selected)),
    )
    const opened = this.#isOpened ? this.#types[selected] : undefined
    return {
      driver: this.#driver,
      now: this.#clock.now(),
      types: this.#types,
      workers: opened ? this.#workers.filter(({ types }) => types.some((type) => isSame(type, opened))) : this.#workers,
      ...(this.#running && { running: this.#running }),
      failures: opened ? this.#failures.filter(({ job }) => isSame(job, opened)) : this.#failures,
      rates: this.#meter.rates,
      selected,
      ...(opened && { opened }),
      ...(this.#message !== undefined && { message: this.#message }),
      ...(this.#readAt !== undefined && { readAt: this.#readAt }),
      ...(this.#outage !== undefined && { outage: this.#outage }),
    }
  }

  /** Acts on a key. Never rejects. */
  async press(key: string): Promise<void> {
    const { types, selected } = this.view()
    const type = types[selected]
    const question = this.#question
    this.#question = this.#message = undefined
    if (question) {
      if (key === 'y' || key === 'Y') await this.#tell(question)
      else this.#message = 'Nothing was changed.'
    } else if (key === 'q' || key === '\x03') this.isOver = true
    else if (key === '\x1b[A' || key === 'k') this.#selected = types[Math.max(0, selected - 1)]
    else if (key === '\x1b[B' || key === 'j') this.#selected = types[Math.min(types.length - 1, selected + 1)]
    else if (key === '\r' || key === '\n') this.#isOpened = type !== undefined
    else if (key === '\x1b' || key === '\x7f') this.#isOpened = false
    else if (key === 'p' && type) await this.#tell(() => this.#togglePause(type))
    else if (key === 'r' && type) this.#askRetry(type)
  }

  async #tell(act: () => Promise<string>): Promise<void> {
    try {
      this.#message = await act()
    } catch (thrown) {
      this.#message = asError(thrown).message
    }
    const message = this.#message
    await this.refresh()
    this.#message ??= message
  }

  async #togglePause({ face, name, paused }: TypeSummary): Promise<string> {
    await (paused ? this.#admin.resume({ face, name }) : this.#admin.pause({ face, name }))
    return `${typeText({ face, name })} was ${paused ? 'resumed' : 'paused'}.`
  }

  #askRetry({ face, name, states }: TypeSummary): void {
    const type = typeText({ face, name })
    if (states.failed === 0) {
      this.#message = `${type} has no failed jobs.`
      return
    }
    this.#message = `Retry ${counted(states.failed, 'failed job')} of ${type}? y/n`
    this.#question = async () => {
      const { done } = await this.#admin.bulk.retry({ types: [{ face, name }] }).result
      return `${counted(done, 'job')} of ${type} retried.`
    }
  }

  /** Only when their number changed: a look at a million records costs more than the counts. */
  async #readFailures(): Promise<void> {
    const counts = JSON.stringify(this.#types.map((type) => [typeText(type), type.states.failed]).toSorted())
    if (counts === this.#failuresOf) return
    const failed = this.#types.reduce((sum, { states }) => sum + states.failed, 0)
    const { items } = await this.#admin.jobs.list({
      states: ['failed'],
      order: failed <= mostSorted ? 'desc' : 'place',
      limit: mostFailures,
      error: true,
    })
    this.#failures = items.map((job) => ({ job, message: job.error?.message ?? '' }))
    this.#failuresOf = counts
  }

  /** What workers say of themselves is up to half a minute old. */
  async #readRunning(): Promise<void> {
    const types = this.#types.filter(({ states }) => states.processing > 0).map(({ face, name }) => ({ face, name }))
    const labels = new Set(this.#workers.map(({ label }) => label))
    // Of two workers with one label, none can be told from the other.
    if (labels.size < this.#workers.length || types.length > mostRunning) {
      this.#running = undefined
      return
    }
    const query = { types, states: ['processing'], limit: mostRunning } as const
    const { items, nextCursor } = types.length === 0 ? { items: [] } : await this.#admin.jobs.list(query)
    const running = Map.groupBy(items, ({ workerId = '' }) => workerId)
    this.#running =
      nextCursor === undefined
        ? Object.fromEntries([...running].map(([label, jobs]) => [label, jobs.length]))
        : undefined
  }
}

const isSame = (a: NamedType, b: NamedType | undefined): boolean => a.face === b?.face && a.name === b.name

/** How long its oldest job has waited, if that is long. */
const late = ({ oldestDueMs = 0 }: TypeSummary): number => (oldestDueMs >= 10_000 ? oldestDueMs : 0)

/** Jobs that wait too long first, then failures, then the number that waits. */
function byAttention(a: TypeSummary, b: TypeSummary): number {
  return late(b) - late(a) || b.states.failed - a.states.failed || b.due - a.due || (typeText(a) < typeText(b) ? -1 : 1)
}
