// Numbers of the engine that no option sets. Durations are in ms.

/** Frozen: tests read them, and none changes them. */
export const engineDefaults = Object.freeze({
  /** Between two sweeps of a worker: after one that deleted something, and after one that did not. */
  sweepMs: 5_000,
  idleSweepMs: 60_000,
  sweepLimit: 1_000,
  /** Oldest copy of the limits of a type that a claim may use. */
  limitsMs: 5_000,
  /** Fallback poll of a wait for a result, for when a hint is lost. */
  waitPollMs: 5_000,
  /** First and longest pause after a storage error; each pause is twice the one before. */
  retryMs: 50,
  longestRetryMs: 5_000,
  /** Pause between two claims of a worker while the storage fails. */
  loopBackoff: { type: 'exponential', delayMs: 50, factor: 2, maxDelayMs: 5_000, jitter: 0.5 } as const,
  /** Pause before the next claim when a claim found nothing although a job is due: another call has it locked. */
  lockedMs: 250,
  /** Longest time that progress and log lines wait for a call that takes them along; at most one call of their own in it. */
  reportMs: 250,
  /** Time that stop() leaves to writes that are still to be made. */
  stopWritesMs: 5_000,
  /** Time that handlers have to end after stop() aborted their signal. */
  afterAbortMs: 500,
  /** Jobs in one call. */
  batch: 1_000,
  /** Slots from which a worker holds nothing ahead, if its storage does not say. */
  prefetchBelow: 50,
  /** Adds in flight at once; further ones gather for the next call. */
  addsInFlight: 4,
  /** Unread events that a stream keeps. */
  streamBuffer: 10_000,
})
