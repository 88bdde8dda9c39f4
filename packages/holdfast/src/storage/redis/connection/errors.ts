// What an error of a Redis server or its client means: whether the call may have been applied, whether the same call is worth
// repeating, and what to do.

import { isHoldfastError, StorageError } from '../../../errors.ts'

/** The first word of a server's error reply, such as 'NOSCRIPT'. */
export function replyCode(error: unknown): string | undefined {
  const { name, message } = (error ?? {}) as { name?: unknown; message?: unknown }
  if (name !== 'ReplyError' || typeof message !== 'string') return undefined
  return /^[A-Z]+\b/.exec(message)?.[0]
}

interface Meaning {
  /** The same call may succeed in a moment. */
  readonly transient: boolean
  readonly maybeApplied: boolean
  /** What happened. Undefined: the error's own message says it. */
  readonly what?: string
  readonly advice?: string
}

const later: Meaning = { transient: true, maybeApplied: false }
const never: Meaning = { transient: false, maybeApplied: false }

/** Error replies that the server sends before it runs a command. */
const refusals: Readonly<Record<string, Meaning>> = {
  LOADING: { ...later, what: 'the server is loading its data' },
  READONLY: { ...later, what: 'the server has become a read-only replica' },
  MASTERDOWN: { ...later, what: 'the server is a replica that has lost its primary' },
  MOVED: {
    ...later,
    what: 'another node of the cluster serves the key',
    advice: 'Pass a Cluster as `client`.',
  },
  ASK: later,
  TRYAGAIN: later,
  CLUSTERDOWN: { ...later, what: 'the cluster is down' },
  BUSY: { ...later, what: 'the server is busy with a script' },
  NOREPLICAS: { ...later, what: 'the server has fewer replicas than its min-replicas-to-write' },
  OOM: {
    ...never,
    what: 'the server has reached its maxmemory',
    advice: 'Raise maxmemory, or wait until workers and retention have freed memory.',
  },
  MISCONF: { ...never, what: 'the server cannot write to its disk, and refuses writes', advice: 'See its log.' },
  NOAUTH: { ...never, what: 'the server asks for a password', advice: 'Put it in the url.' },
  WRONGPASS: { ...never, what: 'the server refused the user name or the password', advice: 'Check the url.' },
  NOPERM: { ...never, what: 'the user of this connection lacks a right', advice: 'Grant it with ACL SETUSER.' },
  // The server became a replica while it ran a WAIT.
  UNBLOCKED: { transient: true, maybeApplied: true },
}

/** Messages of the client for a command that it has not sent. */
const unsent = /enableOfflineQueue options is false|None of startup nodes is available/
const tooManyClients = /^ERR max number of clients reached/

function meaningOf(error: Error): Meaning {
  const code = replyCode(error)
  if (code !== undefined) {
    if (tooManyClients.test(error.message)) {
      return { ...later, what: 'the server has reached its maxclients', advice: 'Raise maxclients.' }
    }
    // Any other code comes from inside a script: what it wrote before the error stays.
    return refusals[code] ?? { transient: false, maybeApplied: true }
  }
  if (error instanceof TypeError || error instanceof RangeError) return { transient: false, maybeApplied: true }
  return unsent.test(error.message)
    ? { ...later, what: 'the connection was lost' }
    : { transient: true, maybeApplied: true }
}

/** What happened, with the server's or the client's own words. Without the full stop. */
const happened = ({ what }: Meaning, { message }: Error): string => {
  const words = message.replace(/\.$/, '')
  return what === undefined ? words : `${what} (${words})`
}

const joined = (...sentences: readonly (string | undefined)[]): string =>
  sentences.filter((sentence) => sentence !== undefined).join(' ')

/** A StorageError for what a call rejected with. An error of ours is returned as it is. */
export function redisError(error: unknown): unknown {
  if (!(error instanceof Error) || isHoldfastError(error)) return error
  const meaning = meaningOf(error)
  const { transient, maybeApplied, advice } = meaning
  const applied = maybeApplied ? 'The call may have been applied.' : 'The call was not applied.'
  const message = joined(`Redis: ${happened(meaning, error)}.`, applied, advice)
  return storageError(message, { transient, maybeApplied, cause: withoutCommand(error) })
}

export function storageError(
  message: string,
  data: { transient: boolean; maybeApplied: boolean; cause?: unknown; reason?: string },
): StorageError {
  const { transient, ...rest } = data
  return new StorageError(message, transient ? { ...rest, transient } : rest)
}

/** The libraries attach the command to its error, with its payload or its password. */
function withoutCommand(error: Error): Error {
  Reflect.deleteProperty(error, 'command')
  return error
}

/** There is no connection, and the call was not sent. */
export function notConnected(where: string, reason: unknown): StorageError {
  const why = reason instanceof Error && reason.message !== '' ? ` (${reason.message.replace(/\.$/, '')})` : ''
  const cause = reason instanceof Error ? withoutCommand(reason) : reason
  const message = `Redis at ${where}: not connected${why}. The call was not sent.`
  return storageError(message, { transient: true, maybeApplied: false, cause })
}

/** Thrown by the set-up of a connection. The message is one or more sentences. */
export class ServerRefusedError extends Error {}

/** Why connect() failed. */
export function connectError(where: string, failure: unknown): unknown {
  if (isHoldfastError(failure) && !(failure instanceof StorageError)) return failure
  const error = failure instanceof StorageError && failure.cause instanceof Error ? failure.cause : failure
  const data = { transient: false, maybeApplied: false, cause: error instanceof Error ? withoutCommand(error) : error }
  if (error instanceof ServerRefusedError) return storageError(`Redis at ${where}: refused. ${error.message}`, data)
  if (!(error instanceof Error)) return storageError(`Redis at ${where}: cannot connect (${String(error)}).`, data)
  const meaning = meaningOf(error)
  const { code } = error as { code?: string }
  // An AggregateError of the platform has a code and no message.
  const named = error.message === '' ? new Error(code ?? 'unknown error') : error
  const advice = meaning.advice ?? (code && 'Check the address, and that the server is running.')
  return storageError(joined(`Redis at ${where}: cannot connect (${happened(meaning, named)}).`, advice), data)
}
