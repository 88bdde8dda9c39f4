// admin.events(): a stream of what happens to the jobs of many types. A storage signals the events of each type apart, so without
// given types the known ones are read at the start, and again every few seconds.

import type { Clock } from '../clock.ts'
import { entriesOf, type GapEntry, type JobEventEntry, LiveStream } from '../engine/event-stream.ts'
import type { GuardedStorage } from '../engine/guard.ts'
import type { Signal, Topic, Unlisten } from '../storage/storage.ts'
import { parseType } from '../storage/stored-type.ts'
import type { NamedType } from './options.ts'

/** One entry of admin.events(). `gap`: some events may be missing, so read the state of the jobs again. */
export type FleetEvent =
  | (JobEventEntry & NamedType)
  /** Of one type; without `face` and `name`: of any. */
  | (GapEntry & Partial<NamedType>)

/** The stream of admin.events(). Ends by `break`, by its signal, or when the handle is closed. */
export interface FleetEventStream extends AsyncIterable<FleetEvent> {
  /** Whose events it has: those of all processes, or of this one only (`features.fleetEvents` of the storage is false). */
  readonly scope: 'fleet' | 'process'
  /** Resolves when the stream listens: later events are delivered once, in order per job. Rejects if the storage fails. */
  readonly ready: Promise<void>
}

/** Time between two looks for types that are new, in ms. */
const lookMs = 5_000

export interface FleetStreamOptions {
  readonly storage: Pick<GuardedStorage, 'listen' | 'count'>
  readonly clock: Clock
  /** Stored types. Undefined: every type, also later ones. */
  readonly types: readonly string[] | undefined
  whenConnected<T>(call: () => Promise<T>): Promise<T>
  onEnd(): void
}

export function fleetStream({
  storage,
  clock,
  types,
  whenConnected,
  onEnd,
}: FleetStreamOptions): LiveStream<FleetEvent> {
  const listen: GuardedStorage['listen'] = (topics, receive) => whenConnected(() => storage.listen(topics, receive))
  const known = async (): Promise<string[]> =>
    (await whenConnected(() => storage.count({}))).types.map(({ type }) => type)
  return new LiveStream<FleetEvent>({
    open: (receive) => (types ? listen(topicsOf(types), receive) : listenToAll(receive)),
    entriesOf: (signal) => entriesOf(signal, clock, parseType(signal.type)),
    gapBefore: ({ at }) => ({ event: 'gap', at }),
    onEnd,
  })

  async function listenToAll(receive: (signal: Signal) => void): Promise<Unlisten> {
    const heard = new Set(await known())
    const unlistens = [await listen(topicsOf([...heard]), receive)]
    let isOver = false
    const look = async (): Promise<void> => {
      try {
        const added = (await known()).filter((type) => !heard.has(type))
        if (added.length > 0 && !isOver) {
          unlistens.push(await listen(topicsOf(added), receive))
          // What happened to their jobs before this is missing.
          for (const type of added) receive({ kind: 'events', type, gap: true })
          for (const type of added) heard.add(type)
        }
      } catch {
        // The storage does not answer: the next look may succeed.
      }
      if (isOver) await end()
      else timer = clock.after(lookMs, () => void look(), { keepsAlive: false })
    }
    let timer = clock.after(lookMs, () => void look(), { keepsAlive: false })
    const end = async (): Promise<void> => {
      isOver = true
      timer.cancel()
      await Promise.all(unlistens.splice(0).map((unlisten) => unlisten()))
    }
    return end
  }
}

const topicsOf = (types: readonly string[]): Topic[] => types.map((type) => ({ kind: 'events', type }))
