// What an event of the engine adds to the metrics. One listener of the channel serves every face: chains tell their adds by an event of
// their own, everything else is an event of the engine.

import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { EngineEvent } from '../../engine/events.ts'
import { errorCodes } from '../../errors.ts'
import { storedType } from '../../storage/stored-type.ts'
import { counters, histograms, type Instrument } from './instruments.ts'
import type { TypeLabels } from './type-labels.ts'

/** Receives what is measured. The labels are in the order of the instrument. */
export interface Recorder {
  add(instrument: Instrument, labels: readonly string[], count: number): void
  observe(instrument: Instrument, labels: readonly string[], seconds: number): void
}

/** The add of a job of a chain. With `committed: 'unknown'` it is in a transaction that may still roll back. */
interface ChainJobCreated {
  readonly name: 'jobCreated'
  readonly data: { readonly typeName: string; readonly committed?: 'unknown' }
}

/** @param now epoch ms @returns a function that ends it */
export function measureProcess(recorder: Recorder, types: TypeLabels, now: () => number): () => void {
  const listen = (message: unknown): void => measure(message as EngineEvent | ChainJobCreated, recorder, types, now)
  subscribe('holdfast', listen)
  return () => void unsubscribe('holdfast', listen)
}

function measure(event: EngineEvent | ChainJobCreated, recorder: Recorder, types: TypeLabels, now: () => number): void {
  const ended = (type: string, outcome: string, durationMs?: number): void => {
    const labels = [...types.of(type), outcome]
    recorder.add(counters.settled, labels, 1)
    if (durationMs !== undefined) recorder.observe(histograms.run, labels, durationMs / 1_000)
  }
  switch (event.name) {
    case 'added':
      return recorder.add(counters.added, types.of(event.type), 1)
    case 'jobCreated':
      if (event.data.committed === 'unknown') return
      return recorder.add(counters.added, types.of(storedType('chain', event.data.typeName)), 1)
    case 'schedule_fired':
      recorder.add(counters.added, types.of(event.type), 1)
      if (event.slotAt === undefined) return
      return recorder.observe(histograms.lateness, types.of(event.type), Math.max(0, now() - event.slotAt) / 1_000)
    case 'schedule_skipped':
      return recorder.add(counters.skippedSlots, types.of(event.type), event.count)
    case 'started': {
      if (!event.job) return
      const waitedMs = Math.max(0, event.job.startedAt - event.job.runAt)
      return recorder.observe(histograms.wait, types.of(event.type), waitedMs / 1_000)
    }
    case 'completed':
    case 'failing':
    case 'failed':
      return ended(event.type, event.name, event.durationMs)
    case 'released':
      return ended(event.type, 'released')
    case 'cancelled':
      return ended(event.type, event.reason === 'expired' ? 'expired' : 'cancelled')
    case 'fenced':
      return ended(event.type, 'refused')
    case 'stalled':
      return recorder.add(counters.lostLeases, types.of(event.type), 1)
    case 'rate_limited':
      return recorder.add(counters.slowDowns, [...types.of(event.type), event.scope], 1)
    case 'handler_abandoned':
      return recorder.add(counters.abandoned, types.of(event.type), 1)
    case 'loop_stalled':
      return recorder.add(counters.loopStalls, [], 1)
    case 'storage_call': {
      const { driver, verb, ok, ms } = event
      recorder.add(counters.storageCalls, [driver, verb, String(ok)], 1)
      return recorder.observe(histograms.storageTime, [driver, verb], ms / 1_000)
    }
    case 'connection_lost':
      return recorder.add(counters.connectionsLost, [event.driver], 1)
    case 'error':
      return recorder.add(counters.errors, [codeOf(event.error)], 1)
    default:
      return undefined
  }
}

/** A code of ours; errors of others have any text as code. */
function codeOf(error: Error): string {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && Object.hasOwn(errorCodes, code) ? code : 'other'
}
