// queue.events(): a stream of what happens to the jobs of a name. It has the events of all processes if the storage has
// `features.fleetEvents`, else those of this process.

import type { Clock } from '../clock.ts'
import { entriesOf, type GapEntry, type JobEventEntry, LiveStream } from '../engine/event-stream.ts'
import type { GuardedStorage } from '../engine/guard.ts'

/** One entry of queue.events(). `gap`: some events may be missing, so read the state of the jobs again. */
export type QueueEvent = JobEventEntry | GapEntry

/** The stream of queue.events(). Ends by `break`, by its signal, or when the queue stops. */
export interface EventStream extends AsyncIterable<QueueEvent> {
  /** Resolves when the stream listens: later events are delivered once, in order per job. Rejects if the storage fails. */
  readonly ready: Promise<void>
}

/** @param listen connects first, if necessary */
export function queueStream(
  listen: GuardedStorage['listen'],
  type: string,
  clock: Clock,
  onEnd: () => void,
): LiveStream<QueueEvent> {
  return new LiveStream({
    open: (receive) => listen([{ kind: 'events', type }], receive),
    entriesOf: (signal) => entriesOf(signal, clock, {}),
    gapBefore: ({ at }) => ({ event: 'gap', at }),
    onEnd,
  })
}
