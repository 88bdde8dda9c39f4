// Tells the events of chains to their listeners: the channel of the process, and the observer, logger and log of a client or worker.

import type { Logger } from '../../engine/emit.ts'
import { isWatched, type Tell, teller } from '../../engine/events.ts'
import type { TellChains } from './chain-events.ts'
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

interface ChainTeller {
  /** For the engine. */
  readonly tell: Tell
  readonly tellChains: TellChains
  /** There is a listener besides the channel. */
  readonly isObserved: boolean
}

export function chainTeller(listeners: Listeners): ChainTeller {
  const { observer, logger, log, workerId } = listeners
  const isObserved = observer !== undefined || logger !== undefined || log !== undefined
  const tellEvent = teller<ChainEvent>((event) => callListeners(event, listeners))
  const tellChains: TellChains = (name, data) => {
    if (isObserved || isWatched()) tellEvent({ name, data })
  }
  const tell = teller((event) => {
    if (isObserved || isWatched()) translateEvent(event, tellChains, workerId)
  })
  return { tell, tellChains, isObserved }
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
