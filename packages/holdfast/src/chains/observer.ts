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

/** One method per event. One that throws harms nothing. */
export type Observer = { [E in ObserverEvent]: (data: Readonly<Record<string, unknown>>) => void }
