// Events as lines of a log: one entry per event, at the level that the other faces use for the same thing.

import type { Logger } from '../../engine/emit.ts'
import type { ChainEvent, ObserverEvent } from './observer.ts'

export interface LogEntry {
  /** Name of the event. */
  readonly event: string
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
  readonly data: Readonly<Record<string, unknown>>
  readonly error?: unknown
}

/** A function that receives each event as an entry. A `logger` receives the same, as a call of one of its four methods. */
export type Log = (entry: LogEntry) => void

/** Routine events of single jobs have level `debug`. */
const levels: Readonly<Partial<Record<ObserverEvent, LogEntry['level']>>> = {
  workerStarted: 'info',
  workerStopping: 'info',
  workerStopped: 'info',
  connectionRestored: 'info',
  jobAttemptReleased: 'info',
  jobChainCancelled: 'info',
  jobChainDeleted: 'info',
  jobTriggered: 'info',
  connectionLost: 'warn',
  eventLoopStalled: 'warn',
  jobAttemptFailed: 'warn',
  jobAttemptLost: 'warn',
  jobLeaseExpired: 'warn',
  jobRateLimited: 'warn',
  jobStalled: 'warn',
  notifyContextAbsent: 'warn',
  validationFailed: 'warn',
  jobChainFailed: 'error',
  jobFailed: 'error',
  notifierError: 'error',
  storageError: 'error',
  workerError: 'error',
}

export function logEntryOf({ name, data }: ChainEvent): LogEntry {
  const entry = { event: name, level: levels[name] ?? 'debug', message: messageOf(name, data), data } as const
  return 'error' in data ? { ...entry, error: data.error } : entry
}

/** To a logger: errors under `err`, as pino expects them, and no outputs, for these are the user's data. */
export function writeEntry(logger: Logger, { event, level, message, data }: LogEntry): void {
  const { error, output: _, ...rest } = data
  logger[level]?.(error === undefined ? { event, ...rest } : { event, ...rest, err: error }, message)
}

/** 'jobAttemptStarted' of a job of greet: "job attempt started: greet 0190…". */
function messageOf(name: ObserverEvent, { typeName, id, workerId, error }: ChainEvent['data']): string {
  const words = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  const subject = typeof typeName === 'string' ? [typeName, id] : [workerId]
  const about = subject.filter((part) => typeof part === 'string').join(' ')
  const why = error instanceof Error ? `: ${error.message}` : ''
  return about === '' ? words + why : `${words}: ${about}${why}`
}
