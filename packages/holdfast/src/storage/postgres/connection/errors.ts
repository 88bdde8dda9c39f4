// Translates errors of the server and of the client libraries to StorageErrors: whether the call may have been applied, whether
// the same call is worth repeating, and what to do.

import { isHoldfastError, StorageError } from '../../../errors.ts'

interface Meaning {
  readonly transient: boolean
  /** Whether a call that ends with this error may have been applied. Most errors come before anything is done. */
  readonly maybeApplied?: boolean
  /** The connection must not be used again. */
  readonly isLost?: boolean
  /** Explanation, put before the server's own message. */
  readonly says?: string
}

const transient: Meaning = { transient: true }
const permanent: Meaning = { transient: false }
const lost: Meaning = { transient: true, maybeApplied: true, isLost: true }
const unprepared: Meaning = {
  transient: false,
  isLost: true,
  says: 'prepared statements do not work here: with a pooler in transaction mode, set `prepare: false`',
}

/** By SQLSTATE. A state that is not listed means that the server refused the statement and did nothing. */
const meanings: Readonly<Record<string, Meaning>> = {
  // Serialization failure, deadlock.
  '40001': transient,
  '40P01': transient,
  '55P03': { ...transient, says: 'a row is locked by another transaction' },
  '57014': { ...transient, says: 'the server cancelled the statement' },
  '25006': { ...transient, isLost: true, says: 'the server is a read-only replica' },
  // Idle in transaction for too long.
  '25P03': { ...transient, isLost: true },
  '53300': { ...transient, says: 'the server has reached its max_connections' },
  // Out of memory.
  '53200': transient,
  '53100': { ...permanent, says: 'the disk of the server is full' },
  '57P01': { ...lost, says: 'the server ended the connection' },
  '57P02': { ...lost, says: 'the server has crashed' },
  '57P03': { ...transient, isLost: true, says: 'the server is starting up or shutting down' },
  '57P04': { ...permanent, isLost: true, says: 'the database was dropped' },
  // Idle session timeout.
  '57P05': lost,
  '26000': unprepared,
  '42P05': unprepared,
  // A cached plan from before the tables were changed; a new connection plans again.
  '0A000': { ...transient, isLost: true },
  '25P02': { ...permanent, says: 'the transaction has failed before, and can only be rolled back' },
  '28P01': { ...permanent, says: 'the server refused the password' },
  '28000': { ...permanent, says: 'the server refused the user' },
  '3D000': { ...permanent, says: 'create the database first' },
  // Prisma's own code for a deadlock or a serialization failure.
  P2034: transient,
  '42501': { ...permanent, says: 'the user of this connection lacks a right' },
}

/** Connection exceptions of the SQL standard. PgBouncer uses this class for all of its own errors. */
const connectionClass = /^08/

/** The SQLSTATE of a server's error, such as '23505', also if this driver or an ORM has wrapped it. */
export function sqlStateOf(error: unknown): string | undefined {
  return serverErrorIn(error)?.state
}

/** Or a deadlock: the server has undone all of the transaction, and the same call may succeed at once. */
export function isSerializationFailure(error: unknown): boolean {
  const state = sqlStateOf(error)
  return state === '40001' || state === '40P01'
}

/** Libraries put 'EPIPE' and the like into the same field. Only a SQLSTATE contains a digit. */
const isState = (code: unknown): code is string => typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code)

interface ServerError {
  readonly state: string
  readonly error: Error
}

function serverErrorIn(error: unknown): ServerError | undefined {
  for (let depth = 0; error instanceof Error && depth < 5; depth++, error = error.cause) {
    const { code, meta } = error as { code?: unknown; meta?: { code?: unknown } | null }
    // Prisma has codes of its own, such as P2010, and keeps the server's in `meta`.
    if (isState(meta?.code)) return { state: meta.code, error }
    if (isState(code)) return { state: code, error }
  }
  return undefined
}

function meaningOf(error: Error, wasSent: boolean): Meaning {
  const state = serverErrorIn(error)?.state
  if (state !== undefined) return meanings[state] ?? (connectionClass.test(state) ? lost : permanent)
  const isMisuse = error instanceof TypeError || error instanceof RangeError
  return { transient: !isMisuse, maybeApplied: wasSent, isLost: true }
}

/** Whether the connection must not be used again. */
export function endsConnection(error: unknown): boolean {
  return !(error instanceof Error) || meaningOf(error, true).isLost === true
}

/**
 * A StorageError, `transient` if the same call may succeed later.
 * @param mayCommit the statement was sent, and commits what it does
 */
export function postgresError(error: unknown, mayCommit: boolean): unknown {
  if (!(error instanceof Error) || isHoldfastError(error)) return error
  const { transient: isTransient, maybeApplied = false, says } = meaningOf(error, true)
  // An ORM puts the statement and its values into its message. The server's own error contains no values.
  const cause = serverErrorIn(error)?.error ?? error
  return storageError(`Postgres: ${explained(says, messageOf(cause))}`, {
    transient: isTransient,
    maybeApplied: mayCommit && maybeApplied,
    cause,
  })
}

/** There was no connection, and nothing was sent. */
export function notConnected(where: string, error: unknown): unknown {
  if (isHoldfastError(error)) return error
  const { transient: isTransient, says } = error instanceof Error ? meaningOf(error, false) : transient
  return storageError(`Postgres: no connection to ${where}: ${explained(says, messageOf(error))}`, {
    transient: isTransient,
    maybeApplied: false,
    cause: error,
  })
}

/** The database could not be opened. */
export function openError(where: string, error: unknown): unknown {
  if (isHoldfastError(error) && !(error instanceof StorageError)) return error
  const cause = error instanceof StorageError && error.cause !== undefined ? error.cause : error
  const says = cause instanceof Error ? meaningOf(cause, false).says : undefined
  const hint = isUnreachable(cause) ? '. Check the address, and that the server is running.' : ''
  return storageError(`Postgres: cannot open ${where}: ${explained(says, messageOf(cause))}${hint}`, {
    transient: false,
    maybeApplied: false,
    cause,
  })
}

const isUnreachable = (error: unknown): boolean =>
  ['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ETIMEDOUT'].includes(
    String((error as { code?: unknown } | null)?.code),
  )

export const connectionLost = (): Error => new Error('the connection was lost')

export const connectTimeout = (callTimeoutMs: number): Error =>
  Object.assign(new Error(`no connection within ${callTimeoutMs} ms (callTimeoutMs)`), { code: 'ETIMEDOUT' })

const explained = (says: string | undefined, message: string): string =>
  says === undefined ? message : `${says} (${message})`

/** The error of a refused connection to a name with several addresses has no message of its own: take the first address's. */
function messageOf(error: unknown): string {
  const { message, code, errors } = (error ?? {}) as { message?: unknown; code?: unknown; errors?: unknown }
  if (typeof message === 'string' && message !== '') return message
  if (Array.isArray(errors) && errors.length > 0) return messageOf(errors[0])
  return typeof code === 'string' ? code : 'unknown'
}

export function storageError(
  message: string,
  { transient: isTransient, ...rest }: { transient: boolean; maybeApplied: boolean; cause?: unknown; reason?: string },
): StorageError {
  return new StorageError(message, isTransient ? { ...rest, transient: true } : rest)
}
