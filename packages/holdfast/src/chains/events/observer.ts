// What an observer may hear of, after the commit.

export type ObserverEvent =
  | 'workerStarted'
  | 'workerError'
  | 'workerStopping'
  | 'workerStopped'
  | 'jobChainCreated'
  | 'jobChainCompleted'
  | 'jobChainFailed'
  | 'jobChainCancelled'
  | 'jobChainDeleted'
  | 'jobCreated'
  | 'jobDeduplicated'
  | 'jobBlocked'
  | 'jobUnblocked'
  | 'jobTriggered'
  | 'jobCompleted'
  | 'jobFailed'
  | 'jobStalled'
  | 'jobAttemptStarted'
  | 'jobAttemptCompleted'
  | 'jobAttemptFailed'
  | 'jobAttemptReleased'
  | 'jobAttemptLost'
  | 'jobLeaseRenewed'
  | 'jobLeaseExpired'
  | 'notifyContextAbsent'
  | 'notifierError'
  | 'storageError'
  | 'validationFailed'
  // Gauges, told when they change, and not logged: `{ typeName, workerId, value }`.
  | 'jobTypeIdle' // slots of the worker that could run a job of this type now
  | 'jobTypeProcessing' // jobs of this type that it runs

/** As it goes out on the channel. */
export interface ChainEvent {
  readonly name: ObserverEvent
  /** Ids and types concerned; `committed: 'unknown'` where it is told before somebody else's commit. */
  readonly data: Readonly<Record<string, unknown>>
}

/** One method per event. One that throws harms nothing. */
export type Observer = { [E in ObserverEvent]: (data: Readonly<Record<string, unknown>>) => void }
