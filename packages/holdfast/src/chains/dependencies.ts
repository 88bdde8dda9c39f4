// What client and worker both work with: the guarded storage, hints through a notifier, the registry and the events.

import { type Clock, systemClock } from '../clock.ts'
import type { Logger } from '../engine/emit.ts'
import type { PublishEvent } from '../engine/events.ts'
import { type GuardedStorage, guardStorage } from '../engine/guard.ts'
import { AddLimits } from '../engine/limits/add-limits.ts'
import { LimitsCopy, type LimitsCopyOptions } from '../engine/limits/limits-copy.ts'
import type { Storage } from '../storage/storage.ts'
import type { PublishChainEvent } from './events/chain-events.ts'
import type { Log } from './events/log.ts'
import { notifiedStorage } from './events/notified-storage.ts'
import type { Notifier } from './events/notifier.ts'
import type { Observer } from './events/observer.ts'
import { chainPublisher } from './events/publisher.ts'
import { isOwnType } from './job/stored-type.ts'
import type { JobTypeRegistry } from './registry.ts'

export interface Dependencies {
  readonly storage: GuardedStorage
  readonly clock: Clock
  readonly registry: JobTypeRegistry<unknown>
  readonly publishEvent: PublishEvent
  readonly publishChainEvent: PublishChainEvent
  /** The client or worker has a listener of its own: an observer, a logger or a log. */
  readonly isObserved: boolean
  /** The limits of all job types on the storage; of those of a worker, also what it declares. */
  readonly limits: LimitsCopy
  /** What these mean for the jobs that are added. */
  readonly addLimits: AddLimits
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

interface OfWorker {
  readonly workerId: string
  readonly types: LimitsCopyOptions['types']
  readonly release: number
}

export function dependenciesOf(given: Given, worker?: OfWorker): Dependencies {
  const { observer, logger, log, clock = systemClock, notifier } = given
  const { workerId, types = [], release = 0 } = worker ?? {}
  const { publishEvent, publishChainEvent, isObserved } = chainPublisher({ observer, logger, log, workerId })
  const guarded = guardStorage(given.storage, clock, publishEvent)
  const storage = notifier ? notifiedStorage(guarded, notifier, publishChainEvent) : guarded
  const limits = new LimitsCopy({ storage, clock, types, release, includes: isOwnType })
  return {
    storage,
    limits,
    addLimits: new AddLimits(limits, { clock, storage, waits: true }),
    clock,
    registry: given.jobTypeRegistry,
    publishEvent,
    publishChainEvent,
    isObserved,
  }
}
