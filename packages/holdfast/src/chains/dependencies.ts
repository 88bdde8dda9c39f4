// What client and worker both work with: the guarded storage, hints through a notifier, the registry and the events.

import { type Clock, systemClock } from '../clock.ts'
import type { Logger } from '../engine/emit.ts'
import type { PublishEvent } from '../engine/events.ts'
import { type GuardedStorage, guardStorage } from '../engine/guard.ts'
import type { Storage } from '../storage/storage.ts'
import type { PublishChainEvent } from './events/chain-events.ts'
import type { Log } from './events/log.ts'
import { notifiedStorage } from './events/notified-storage.ts'
import type { Notifier } from './events/notifier.ts'
import type { Observer } from './events/observer.ts'
import { chainPublisher } from './events/publisher.ts'
import type { JobTypeRegistry } from './registry.ts'

export interface Dependencies {
  readonly storage: GuardedStorage
  readonly clock: Clock
  readonly registry: JobTypeRegistry<unknown>
  readonly publishEvent: PublishEvent
  readonly publishChainEvent: PublishChainEvent
  /** The client or worker has a listener of its own: an observer, a logger or a log. */
  readonly isObserved: boolean
}

interface Given {
  readonly storage: Storage
  readonly jobTypeRegistry: JobTypeRegistry<unknown>
  readonly notifier?: Notifier | undefined
  readonly observer?: Partial<Observer> | undefined
  readonly logger?: Logger | undefined
  readonly log?: Log | undefined
  readonly clock?: Clock | undefined
}

/** @param workerId of a worker */
export function dependenciesOf(given: Given, workerId?: string): Dependencies {
  const { observer, logger, log, clock = systemClock, notifier } = given
  const { publishEvent, publishChainEvent, isObserved } = chainPublisher({ observer, logger, log, workerId })
  const guarded = guardStorage(given.storage, clock, publishEvent)
  return {
    storage: notifier ? notifiedStorage(guarded, notifier, publishChainEvent) : guarded,
    clock,
    registry: given.jobTypeRegistry,
    publishEvent,
    publishChainEvent,
    isObserved,
  }
}
