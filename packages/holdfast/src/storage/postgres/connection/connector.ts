// One connection of a client library, and the source of such connections: the two interfaces that the rest of this folder is
// built on. Errors are the library's own at this level, and no call has a timeout.

import type { Row, Statement, Value } from './database.ts'

export interface StatementResult {
  readonly rows: Row[]
  /** The server's command tag: 'SELECT', 'COMMIT', … */
  readonly command: string | null
}

export interface RawConnection {
  /** One statement at a time, unless the connection pipelines. */
  query(statement: Statement, values: readonly Value[]): Promise<StatementResult>
  /** The library's own client, for the user's statements. */
  readonly client: object
  /** True: a statement may be sent before the previous one is answered. */
  readonly pipelines: boolean
  /** True: the connection is closed and accepts no more statements. */
  readonly isLost: boolean
  /** Returns the connection to its pool, or closes it if it has none. */
  release(): void
  /** Closes the connection at once, whatever it is doing, even if the server no longer answers. */
  discard(): void
}

export interface ConnectionEvents {
  onMessage(channel: string, payload: string): void
  /** The connection was lost or discarded. */
  onLost(): void
}

export interface Connector {
  /** Host, port and database, for messages. Never the password. */
  readonly where: string
  /** Connections that were lost so far. The server may have come back with other data, such as a restored backup. */
  readonly losses: number
  /** Resolves with a connection of the pool once one is free. */
  acquire(): Promise<RawConnection>
  /** Opens a connection outside the pool. @param url another address than the pool's */
  open(url?: string, events?: ConnectionEvents): Promise<RawConnection>
  /** Closes every connection that this driver opened. */
  close(): Promise<void>
}
