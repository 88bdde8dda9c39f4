// What the errors of a Postgres server and of a client library mean to those above: whether the call may have happened,
// whether the same call is worth repeating, and what to do about it.

import { isHoldfastError, StorageError } from '../../../errors.ts'

interface Meaning {
  readonly transient: boolean
  /** Whether a call whose answer this is may have happened: most refusals come before anything is done. */
  readonly maybeApplied?: boolean
  /** The connection is of no more use. */
  readonly isLost?: boolean
  /** Before the server's own words. */
  readonly says?: string
}

const later: Meaning = { transient: true }
const never: Meaning = { transient: false }
const lost: Meaning = { transient: true, maybeApplied: true, isLost: true }
const unprepared: Meaning = {
  transient: false,
  isLost: true,
  says: 'prepared statements do not work here: with a pooler in transaction mode, set `prepare: false`',
}

/** By SQLSTATE; what is not listed is a statement that the server refused, and did not do. */
const meanings: Readonly<Record<string, Meaning>> = {
  '40001': later,
  '40P01': later,
  '55P03': { ...later, says: 'a row is locked by another transaction' },
  '57014': { ...later, says: 'the server cancelled the statement' },
  '25006': { ...later, isLost: true, says: 'the server is a read-only replica' },
  '25P03': { ...later, isLost: true },
  '53300': { ...later, says: 'the server has reached its max_connections' },
  '53200': later,
  '53100': { ...never, says: 'the disk of the server is full' },
  '57P01': { ...lost, says: 'the server ended the connection' },
  '57P02': { ...lost, says: 'the server has crashed' },
  '57P03': { ...later, isLost: true, says: 'the server is starting up or shutting down' },
  '57P04': { ...never, isLost: true, says: 'the database was dropped' },
  '57P05': lost,
  '26000': unprepared,
  '42P05': unprepared,
  // A plan made before the tables were changed; the next connection makes another.
  '0A000': { ...later, isLost: true },
  '25P02': { ...never, says: 'the transaction has failed before, and can only be rolled back' },
  '28P01': { ...never, says: 'the server refused the password' },
  '28000': { ...never, says: 'the server refused the user' },
  '3D000': { ...never, says: 'create the database first' },
  // Prisma's own, for a deadlock or a conflict.
  P2034: later,
  '42501': { ...never, says: 'the user of this connection lacks a right' },
}

/** Connection exceptions: by the standard, and what PgBouncer says of whatever happens to it. */
const connectionClass = /^08/

/** The SQLSTATE of a server's refusal, such as '23505'; also of one that was wrapped, by us or by an ORM. */
export function sqlStateOf(error: unknown): string | undefined {
  return serverErrorIn(error)?.state
}

/** A library says 'EPIPE' in the same place: a SQLSTATE has a digit. */
const isState = (code: unknown): code is string => typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code)

interface ServerError {
  readonly state: string
  readonly error: Error
}

function serverErrorIn(error: unknown): ServerError | undefined {
  for (let depth = 0; error instanceof Error && depth < 5; depth++, error = error.cause) {
    const { code, meta } = error as { code?: unknown; meta?: { code?: unknown } | null }
    // Prisma has codes of its own, such as P2010, and keeps the server's beside the error.
    if (isState(meta?.code)) return { state: meta.code, error }
    if (isState(code)) return { state: code, error }
  }
  return undefined
}

function meaningOf(error: Error, wasSent: boolean): Meaning {
  const state = serverErrorIn(error)?.state
  if (state !== undefined) return meanings[state] ?? (connectionClass.test(state) ? lost : never)
  const isOurs = error instanceof TypeError || error instanceof RangeError
  return { transient: !isOurs, maybeApplied: wasSent, isLost: true }
}

/** Whether the connection must not be used again. */
export function endsConnection(error: unknown): boolean {
  return !(error instanceof Error) || meaningOf(error, true).isLost === true
}

/**
 * A StorageError, with `transient` where the same call may go through in a moment.
 * @param mayCommit the statement was sent, and commits what it does
 */
export function postgresError(error: unknown, mayCommit: boolean): unknown {
  if (!(error instanceof Error) || isHoldfastError(error)) return error
  const { transient, maybeApplied = false, says } = meaningOf(error, true)
  // An ORM puts the statement and its values into its message, and so would we.
  const cause = serverErrorIn(error)?.error ?? error
  const words = wordsOf(cause)
  return storageError(says === undefined ? `Postgres: ${words}` : `Postgres: ${says} (${words})`, {
    transient,
    maybeApplied: mayCommit && maybeApplied,
    cause,
  })
}

/** No connection was had, and nothing was sent. */
export function notConnected(where: string, error: unknown): unknown {
  if (isHoldfastError(error)) return error
  const { transient, says } = error instanceof Error ? meaningOf(error, false) : later
  return storageError(`no connection to Postgres at ${where}: ${explained(says, wordsOf(error))}`, {
    transient,
    maybeApplied: false,
    cause: error,
  })
}

/** Why a database could not be opened. */
export function openError(where: string, error: unknown): unknown {
  if (isHoldfastError(error) && !(error instanceof StorageError)) return error
  const cause = error instanceof StorageError && error.cause !== undefined ? error.cause : error
  const says = cause instanceof Error ? meaningOf(cause, false).says : undefined
  return storageError(`cannot open Postgres at ${where}: ${explained(says, wordsOf(cause))}`, {
    transient: false,
    maybeApplied: false,
    cause,
  })
}

const explained = (says: string | undefined, words: string): string =>
  says === undefined ? words : `${says} (${words})`

/** A refused connection to a name with several addresses has no message of its own. */
function wordsOf(error: unknown): string {
  const { message, code, errors } = (error ?? {}) as { message?: unknown; code?: unknown; errors?: unknown }
  if (typeof message === 'string' && message !== '') return message
  if (Array.isArray(errors) && errors.length > 0) return wordsOf(errors[0])
  return typeof code === 'string' ? code : 'unknown'
}

export function storageError(
  message: string,
  { transient, ...rest }: { transient: boolean; maybeApplied: boolean; cause?: unknown; reason?: string },
): StorageError {
  return new StorageError(message, transient ? { ...rest, transient } : rest)
}
