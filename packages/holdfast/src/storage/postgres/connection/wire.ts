// One connection of a client library, and where such connections come from: the little that the rest is built upon. Errors
// are the library's own here, and nothing is bounded in time.

import type { Row, Statement, Value } from './database.ts'

export interface Answer {
  readonly rows: Row[]
  /** What the server says it did: 'SELECT', 'COMMIT', … */
  readonly command: string | null
}

export interface Wire {
  /** One at a time, unless it pipelines. */
  query(statement: Statement, values: readonly Value[]): Promise<Answer>
  /** The library's own, for statements of the user's. */
  readonly client: object
  /** A statement may be sent before the one before it is answered. */
  readonly pipelines: boolean
  /** The connection is gone: nothing more can be asked. */
  readonly isLost: boolean
  /** Back to its pool; one that was opened by itself is closed. */
  release(): void
  /** Gone at once, whatever it is doing, also when nobody answers any more. */
  discard(): void
}

export interface WireEvents {
  onMessage(channel: string, payload: string): void
  /** Lost, or discarded. */
  onLost(): void
}

export interface Wires {
  /** For messages: where they lead. */
  readonly where: string
  /** One of the pool, once one is free. */
  acquire(): Promise<Wire>
  /** One beside the pool. @param url when it must lead there */
  open(url?: string, events?: WireEvents): Promise<Wire>
  /** All that is ours. */
  close(): Promise<void>
}
