// What the errors of a Redis server and of its client mean to those above: whether the call may have happened, whether the
// same call is worth repeating, and what to do about it.

import { isHoldfastError, StorageError } from '../../../errors.ts'

/** The first word of a server's refusal, such as 'NOSCRIPT'. */
export function replyCode(error: unknown): string | undefined {
  const { name, message } = (error ?? {}) as { name?: unknown; message?: unknown }
  if (name !== 'ReplyError' || typeof message !== 'string') return undefined
  return /^[A-Z]+\b/.exec(message)?.[0]
}

interface Meaning {
  readonly transient: boolean
  readonly maybeApplied: boolean
  /** Instead of the server's words, or before them. */
  readonly says?: string
}

const later: Meaning = { transient: true, maybeApplied: false }

/** Refusals that come before anything is done. */
const refusals: Readonly<Record<string, Meaning>> = {
  LOADING: { ...later, says: 'the server is still loading its data' },
  READONLY: { ...later, says: 'the server has become a read-only replica' },
  MASTERDOWN: { ...later, says: 'the server is a replica that has lost its primary' },
  MOVED: { ...later, says: 'the key is served by another node of the cluster (pass a Cluster as `client`)' },
  ASK: later,
  TRYAGAIN: later,
  CLUSTERDOWN: { ...later, says: 'the cluster is down' },
  BUSY: { ...later, says: 'the server is busy with a script' },
  NOREPLICAS: { ...later, says: 'the server has fewer replicas than its min-replicas-to-write' },
  OOM: {
    transient: false,
    maybeApplied: false,
    says: 'the server has reached its maxmemory: raise it, or let workers and retention make room',
  },
  MISCONF: { transient: false, maybeApplied: false, says: 'the server cannot write to its disk, and refuses writes' },
  NOAUTH: { transient: false, maybeApplied: false, says: 'the server asks for a password: put it in the url' },
  WRONGPASS: { transient: false, maybeApplied: false, says: 'the server refused the user name or the password' },
  NOPERM: { transient: false, maybeApplied: false, says: 'the user of this connection lacks a right' },
  // A call that waited when the server was made a replica.
  UNBLOCKED: { transient: true, maybeApplied: true },
}

/** Said by the client of a command that it has not sent. */
const unsent = /enableOfflineQueue options is false|None of startup nodes is available/
const tooManyClients = /^ERR max number of clients reached/

function meaningOf(error: Error): Meaning {
  const code = replyCode(error)
  if (code !== undefined) {
    if (tooManyClients.test(error.message)) return { ...later, says: 'the server has reached its maxclients' }
    // Else an error inside a script: what it wrote before stands.
    return refusals[code] ?? { transient: false, maybeApplied: true }
  }
  if (error instanceof TypeError || error instanceof RangeError) return { transient: false, maybeApplied: true }
  return unsent.test(error.message)
    ? { ...later, says: 'the connection was lost' }
    : { transient: true, maybeApplied: true }
}

/** A StorageError, with `transient` where the same call may go through in a moment. */
export function redisError(error: unknown): unknown {
  if (!(error instanceof Error) || isHoldfastError(error)) return error
  const { transient, maybeApplied, says } = meaningOf(error)
  const message = says === undefined ? `Redis: ${error.message}` : `Redis: ${says} (${error.message})`
  return storageError(message, { transient, maybeApplied, cause: withoutCommand(error) })
}

export function storageError(
  message: string,
  data: { transient: boolean; maybeApplied: boolean; cause?: unknown; reason?: string },
): StorageError {
  const { transient, ...rest } = data
  return new StorageError(message, transient ? { ...rest, transient } : rest)
}

/** The clients hang the command on its error, with its payload, or its password. */
function withoutCommand(error: Error): Error {
  Reflect.deleteProperty(error, 'command')
  return error
}

/** The connection is not there, and nothing was sent. */
export function notConnected(where: string, reason: unknown): StorageError {
  const why = reason instanceof Error && reason.message !== '' ? `: ${reason.message}` : ''
  const cause = reason instanceof Error ? withoutCommand(reason) : reason
  return storageError(`not connected to Redis at ${where}${why}`, { transient: true, maybeApplied: false, cause })
}

/** Why a server could not be opened. */
export function openError(where: string, error: unknown): unknown {
  if (isHoldfastError(error) && !(error instanceof StorageError)) return error
  const { message } = redisError(error) as Error
  const cause = error instanceof Error ? withoutCommand(error) : error
  const detail = message === '' ? ((error as { code?: string }).code ?? 'unknown') : message
  return storageError(`cannot open Redis at ${where}: ${detail.replace(/^Redis: /, '')}`, {
    transient: false,
    maybeApplied: false,
    cause,
  })
}
