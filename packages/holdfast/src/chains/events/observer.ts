// The events of chains. Each comes after its commit.

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
  | 'jobRateLimited' // the handler was told to slow down (rateLimited)
  | 'jobAttemptLost'
  | 'jobLeaseRenewed'
  | 'jobLeaseExpired'
  | 'notifyContextAbsent'
  | 'notifierError'
  | 'storageError'
  | 'validationFailed'
  | 'connectionLost' // calls to the storage get no answer
  | 'connectionRestored' // and the first that gets one after that
  | 'eventLoopStalled' // for longer than a renewal period
  // Gauges, told when they change, and not logged: `{ typeName, workerId, value }`.
  | 'jobTypeIdle' // slots of the worker that could run a job of this type now
  | 'jobTypeProcessing' // jobs of this type that it runs

/** An event as the channel of the process carries it. */
export interface ChainEvent {
  readonly name: ObserverEvent
  /** Ids and types concerned. `committed: 'unknown'`: it is told before the commit of a transaction of the user's. */
  readonly data: Readonly<Record<string, unknown>>
}

/** One method per event. An exception of a method changes nothing. */
export type Observer = { [E in ObserverEvent]: (data: Readonly<Record<string, unknown>>) => void }
