// The metrics of tasks, on an OpenTelemetry meter that the caller passes. Only the part that is used is declared.

import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { TaskEvent } from './events.ts'

type Attributes = Record<string, string>

export interface Meter {
  createCounter(name: string): { add(value: number, attributes?: Attributes): void }
  createUpDownCounter(name: string): { add(value: number, attributes?: Attributes): void }
  createHistogram(name: string, options?: { unit?: string }): { record(value: number, attributes?: Attributes): void }
}

const counted = [
  'enqueued',
  'deduplicated',
  'started',
  'completed',
  'retried',
  'failed',
  'cancelled',
  'rate_limited',
  'released',
] as const

/**
 * Counts `holdfast.tasks.<event>`, with the histogram `holdfast.tasks.duration` (ms) and `holdfast.tasks.in_flight`, for all
 * tasks of this process.
 * @returns a function that ends it
 */
export function meterTasks(meter: Meter): () => void {
  const counters = new Map(counted.map((name) => [name, meter.createCounter(`holdfast.tasks.${name}`)]))
  const inFlight = meter.createUpDownCounter('holdfast.tasks.in_flight')
  const duration = meter.createHistogram('holdfast.tasks.duration', { unit: 'ms' })
  const record = (message: unknown): void => {
    const event = message as TaskEvent
    const { name, queue } = event
    // A name from a message could be anything: it must not become a time series of its own.
    const task = 'defined' in event && !event.defined ? 'unknown' : event.task
    const attributes: Attributes = { task, queue }
    if ('reason' in event) attributes.reason = event.reason
    if ('path' in event) attributes.path = event.path
    counters.get(name)?.add(1, attributes)
    if (name === 'started') inFlight.add(1, { task, queue })
    if ('durationMs' in event && event.durationMs !== undefined) {
      inFlight.add(-1, { task, queue })
      duration.record(event.durationMs, { task, queue })
    }
  }
  subscribe('holdfast.tasks', record)
  return () => void unsubscribe('holdfast.tasks', record)
}
