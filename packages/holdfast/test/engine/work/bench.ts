// A worker on memory, with a clock that the test moves and a storage that it can make faulty.

import type { TestContext } from 'node:test'
import { MemoryStorage } from 'holdfast'
import { type NewJob } from 'holdfast/storage'
import { type FakeClock, fakeClock } from 'holdfast/testing'
import type { EngineEvent } from '../../../src/engine/events.ts'
import { engineDefaults } from '../../../src/engine/defaults.ts'
import { guardStorage } from '../../../src/engine/guard.ts'
import type { Attempt } from '../../../src/engine/work/attempt.ts'
import type { AttemptEnd } from '../../../src/engine/work/outcomes.ts'
import type { OnAttemptEnd, WorkType } from '../../../src/engine/work/work-type.ts'
import { Worker, type WorkerOptions } from '../../../src/engine/work/worker.ts'
import { faulty } from '../../queue/faulty-storage.ts'

type Given = Partial<Omit<WorkerOptions, 'types' | 'storage' | 'tell' | 'clock'>> & {
  /** Each with the settings of `type`. @default ['default'] */
  readonly types?: readonly string[]
  readonly leaseMs?: number
  readonly capMs?: number
  run?(attempt: Attempt): Promise<AttemptEnd>
}

export const completed: AttemptEnd = { ending: { kind: 'completed' } }

export function workBench(
  t: TestContext,
  { callTimeoutMs = 5_000, claimsInFlight = 1, handsOver = false, settlesBeside = false } = {},
) {
  const base: FakeClock = fakeClock()
  let blockedMs = 0
  const clock: FakeClock = {
    ...base,
    now: () => base.now() + blockedMs,
    monotonic: () => base.monotonic() + blockedMs,
    get pending() {
      return base.pending
    },
  }
  const memory = new MemoryStorage({ clock, callTimeoutMs })
  const line = faulty(memory)
  const events: EngineEvent[] = []
  const started: Attempt[] = []
  const publishEvent = (event: EngineEvent): void => void events.push(event)
  let tokens = 0
  return {
    clock,
    /** Time passes, and no timer fires: as in a loop that a handler blocks. */
    block: (ms: number): void => void (blockedMs += ms),
    /** Around the bad line. */
    memory,
    line,
    events,
    /** In the order in which they began. */
    started,
    worker(given: Given = {}): Worker {
      const { types = ['default'], leaseMs = 60_000, capMs = Infinity, run = never, ...rest } = given
      const worker = new Worker({
        storage: {
          ...guardStorage(line.storage, clock, publishEvent),
          settings: { callTimeoutMs, claimsInFlight, settlesBeside },
          features: { ...memory.features, handsOver },
        },
        clock,
        label: 'w',
        concurrency: 1,
        pollMs: 60_000,
        slotPauseMs: 0,
        presenceMs: false,
        prefetchMs: false,
        loopBackoff: engineDefaults.loopBackoff,
        publishEvent,
        types: types.map((type): WorkType => ({
          type,
          leaseMs,
          renewMs: leaseMs / 3,
          capMs,
          run: begin,
          payloadOf: () => undefined,
        })),
        ...rest,
      })
      function begin(attempt: Attempt, onEnd: OnAttemptEnd): Promise<void> {
        started.push(attempt)
        return run(attempt).then((end) => onEnd(attempt, end))
      }
      t.after(async () => {
        line.mend()
        const stopped = worker.stop({ graceMs: 0, afterAbortMs: 0 })
        await clock.advance(10_000)
        await stopped
      })
      return worker
    },
    async add(ids: readonly string[], given: Partial<NewJob> = {}): Promise<void> {
      const retention = { completedMs: 3_600_000, failedMs: 3_600_000, cancelledMs: 3_600_000 }
      await memory.add(ids.map((id) => ({ type: 'default', id, token: `t${++tokens}`, retention, ...given })))
    },
    told<N extends EngineEvent['name']>(name: N): (EngineEvent & { name: N })[] {
      return events.filter((event): event is EngineEvent & { name: N } => event.name === name)
    },
    async stateOf(id: string, type = 'default'): Promise<string | undefined> {
      return (await memory.get([{ type, id }]))[0]?.state
    },
  }
}

const never = (): Promise<AttemptEnd> => new Promise(() => {})

export const ids = (count: number, prefix = 'j'): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`)
