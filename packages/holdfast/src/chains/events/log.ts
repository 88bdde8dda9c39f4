// What the log of a client or worker is told: one entry per event.

export interface LogEntry {
  /** The name of the event. */
  readonly event: string
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
  readonly data: Readonly<Record<string, unknown>>
  readonly error?: unknown
}

export type Log = (entry: LogEntry) => void
