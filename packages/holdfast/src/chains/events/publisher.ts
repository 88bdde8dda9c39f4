// Tells the events of chains to their listeners: the channel of the process, and the observer, logger and log of a client or worker.

import type { Logger } from '../../engine/emit.ts'
import { isWatched, type PublishEvent, eventPublisher } from '../../engine/events.ts'
import type { PublishChainEvent } from './chain-events.ts'
import { translateEvent } from './engine-events.ts'
import { type Log, logEntryOf, writeEntry } from './log.ts'
import type { ChainEvent, Observer, ObserverEvent } from './observer.ts'

interface Listeners {
  readonly observer?: Partial<Observer> | undefined
  readonly logger?: Logger | undefined
  readonly log?: Log | undefined
  /** Of a worker. */
  readonly workerId?: string | undefined
}

interface ChainPublisher {
  /** For the engine. */
  readonly publishEvent: PublishEvent
  readonly publishChainEvent: PublishChainEvent
  /** There is a listener besides the channel. */
  readonly isObserved: boolean
}

export function chainPublisher(listeners: Listeners): ChainPublisher {
  const { observer, logger, log, workerId } = listeners
  const isObserved = observer !== undefined || logger !== undefined || log !== undefined
  const publishToListeners = eventPublisher<ChainEvent>((event) => callListeners(event, listeners))
  const publishChainEvent: PublishChainEvent = (name, data) => {
    if (isObserved || isWatched()) publishToListeners({ name, data })
  }
  const publishEvent = eventPublisher((event) => {
    if (isObserved || isWatched()) translateEvent(event, publishChainEvent, workerId)
  })
  return { publishEvent, publishChainEvent, isObserved }
}

/** A listener that throws changes nothing, and is not told about itself. */
function callListeners(event: ChainEvent, { observer, logger, log }: Listeners): void {
  const { name, data } = event
  safely(() => observer?.[name]?.(data))
  if (isGauge(name) || (!logger && !log)) return
  const entry = logEntryOf(event)
  safely(() => log?.(entry))
  safely(() => logger && writeEntry(logger, entry))
}

function safely(call: () => unknown): void {
  try {
    call()
  } catch {
    // See above.
  }
}

const isGauge = (name: ObserverEvent): boolean => name === 'jobTypeIdle' || name === 'jobTypeProcessing'
