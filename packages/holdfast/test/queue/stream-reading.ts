// Reading what a stream says.

import assert from 'node:assert/strict'
import type { EventStream, QueueEvent, Storage } from 'holdfast'
import type { Signal } from 'holdfast/storage'
import { defaultType } from 'holdfast/storage'

/** The next so many; the stream goes on. */
export async function read(stream: EventStream, count: number): Promise<QueueEvent[]> {
  const iterator = stream[Symbol.asyncIterator]()
  const events: QueueEvent[] = []
  const timer = setTimeout(() => void iterator.return!(), 10_000)
  while (events.length < count) {
    const { value, done } = await iterator.next()
    if (done)
      assert.fail(`the stream ended, or 10 s passed, after ${events.length} of ${count}: ${JSON.stringify(events)}`)
    events.push(value)
  }
  clearTimeout(timer)
  return events
}

/** All until its end. */
export async function rest(stream: EventStream): Promise<QueueEvent[]> {
  const events: QueueEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

/** What is said of this job, with the number of the attempt. */
export function of(id: string, events: readonly QueueEvent[]): string[] {
  return events.flatMap((entry) => ('id' in entry && entry.id === id ? [`${entry.event} ${entry.attempt}`] : []))
}

/** The storage, and a way to say something on the topic `events` in its place. */
export function telling<S extends Storage>(
  storage: S,
): { storage: S; publishEvent(signal: Omit<Signal, 'kind' | 'type'>): void } {
  const listeners: ((signal: Signal) => void)[] = []
  const listen: Storage['listen'] = (topics, onSignal) => {
    if (topics.some(({ kind }) => kind === 'events')) listeners.push(onSignal)
    return storage.listen(topics, onSignal)
  }
  return {
    storage: new Proxy(storage, {
      get(target, key) {
        if (key === 'listen') return listen
        const value: unknown = Reflect.get(target, key)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    }),
    publishEvent: (signal) => {
      for (const listener of listeners) listener({ kind: 'events', type: defaultType, ...signal })
    },
  }
}
