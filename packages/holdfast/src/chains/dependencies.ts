// What a client and a worker stand on alike: the storage with its guard, hints that go another way, and the events.

import { type Clock, systemClock } from '../clock.ts'
import type { Tell } from '../engine/events.ts'
import { retentionOptions } from './options.ts'
import { resolveOptions } from '../resolve-options.ts'
import { type GuardedStorage, guardStorage } from '../engine/guard.ts'
import type { Retention, Storage } from '../storage/storage.ts'
import { hinted } from './events/hinted.ts'
import type { Log } from './events/log.ts'
import type { Notifier } from './events/notifier.ts'
import { chainTeller, type TellChains } from './events/events.ts'
import type { Observer } from './events/observer.ts'
import type { JobTypeRegistry } from './registry.ts'
import type { ChainRetention } from './types.ts'

export interface Ground {
  readonly storage: GuardedStorage
  readonly clock: Clock
  readonly registry: JobTypeRegistry<unknown>
  readonly tell: Tell
  readonly tellChains: TellChains
  /** Somebody of its own listens. */
  readonly isObserved: boolean
}

interface Given {
  readonly storage: Storage
  readonly jobTypeRegistry: JobTypeRegistry<unknown>
  readonly notifier?: Notifier
  readonly observer?: Partial<Observer>
  readonly log?: Log
  readonly clock?: Clock
}

/** @param workerId of a worker */
export function groundOf(given: Given, workerId?: string): Ground {
  const { observer, log, clock = systemClock, notifier } = given
  const { tell, tellChains } = chainTeller({ observer, log, workerId })
  const guarded = guardStorage(given.storage, clock, tell)
  return {
    storage: notifier ? hinted(guarded, notifier, tellChains) : guarded,
    clock,
    registry: given.jobTypeRegistry,
    tell,
    tellChains,
    isObserved: observer !== undefined || log !== undefined,
  }
}

export function retentionOf(given: ChainRetention | undefined): Retention {
  const { completed, failed, cancelled } = resolveOptions('retention', given, retentionOptions)
  return { completedMs: completed.ageMs!, failedMs: failed.ageMs!, cancelledMs: cancelled.ageMs! }
}
