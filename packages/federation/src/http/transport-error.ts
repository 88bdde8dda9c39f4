// Transport errors. With a `reason`, the peer is marked unhealthy for it; without one, the peer is not marked.

import { FederationError } from '../errors.ts'
import { classifyTransportError } from '../peers/classify.ts'
import type { TransportReason } from './client.ts'

/** Wraps a transport error that marks its peer unhealthy. */
export function transportError(cause: unknown): FederationError {
  const reason = classifyTransportError(cause)
  const detail = cause instanceof Error ? cause.message : String(cause)
  return new FederationError('TRANSPORT', `No answer (${reason}): ${detail}`, { reason, cause })
}

/** Makes the error of a refused reply or an aborted request. Neither marks the peer unhealthy. */
export function unmarkedTransportError(message: string, cause?: unknown): FederationError {
  return new FederationError('TRANSPORT', message, { cause })
}

/** Returns the reason that marks the peer; undefined if it is not to be marked. */
export function transportReasonOf(error: unknown): TransportReason | undefined {
  if (!(error instanceof FederationError) || error.code !== 'TRANSPORT') return undefined
  return (error as { readonly reason?: TransportReason }).reason
}

/** Makes an error with the platform's name for timeouts, so that it is classified as one. */
export function timeoutError(message: string): Error {
  const error = new Error(message)
  error.name = 'TimeoutError'
  return error
}
