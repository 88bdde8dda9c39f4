// A server that gave no answer, as an error: with the reason its peer is marked by, or without one where it is not to be marked.

import { FederationError } from '../errors.ts'
import { classifyTransportError } from '../peers/classify.ts'
import type { TransportReason } from './client.ts'

/** Of an error of the transport, whose peer is marked by it. */
export function transportError(cause: unknown): FederationError {
  const reason = classifyTransportError(cause)
  const said = cause instanceof Error ? cause.message : String(cause)
  const data = { reason, cause }
  return new FederationError('TRANSPORT', `No answer (${reason}): ${said}`, data)
}

/** A reply that is refused, or a request that was given up: neither says that the peer is unhealthy. */
export function unmarkedTransportError(message: string, cause?: unknown): FederationError {
  return new FederationError('TRANSPORT', message, { cause })
}

/** Why the peer is to be marked; undefined: it is not. */
export function transportReasonOf(error: unknown): TransportReason | undefined {
  if (!(error instanceof FederationError) || error.code !== 'TRANSPORT') return undefined
  return (error as { readonly reason?: TransportReason }).reason
}

/** Named as the platform names its own, so that it is classified as one. */
export function timeoutError(message: string): Error {
  const error = new Error(message)
  error.name = 'TimeoutError'
  return error
}
