// Answers to requests that fail: JSON with a code and a sentence. What the caller did wrong is never a 500.

import { isHoldfastError } from 'holdfast'
import { jsonResponse } from './responses.ts'

export class RequestError extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.name = 'RequestError'
    this.status = status
    this.code = code
  }
}

export const invalid = (message: string): RequestError => new RequestError(400, 'INVALID_ARGUMENT', message)
export const forbidden = (code: string, message: string): RequestError => new RequestError(403, code, message)

/** @param onInternal called for what is a fault of the server */
export function errorResponse(thrown: unknown, onInternal: (error: unknown) => void): Response {
  const { status, code, message } = requestErrorOf(thrown, onInternal)
  return jsonResponse({ code, error: message }, status)
}

/** As a RequestError: for places that do not answer with a response, such as a stream. */
export function requestErrorOf(thrown: unknown, onInternal: (error: unknown) => void): RequestError {
  if (thrown instanceof RequestError) return thrown
  if (isInvalidArgument(thrown)) return invalid(thrown.message)
  if (isHoldfastError(thrown)) {
    const status = statusOf(thrown.code)
    if (status !== undefined) return new RequestError(status, thrown.code, thrown.message)
  }
  onInternal(thrown)
  return new RequestError(500, 'INTERNAL_ERROR', 'The dashboard failed. Its logger has the error.')
}

const isInvalidArgument = (thrown: unknown): thrown is TypeError =>
  thrown instanceof TypeError && 'code' in thrown && thrown.code === 'INVALID_ARGUMENT'

function statusOf(code: string): number | undefined {
  if (code === 'SCHEDULE_NOT_FOUND') return 404
  if (code === 'GROUP_KIND' || code === 'TOO_LARGE' || code === 'SERIALIZATION_ERROR') return 400
  if (code === 'FEATURE_UNSUPPORTED' || code === 'MISSING_DEPENDENCY') return 422
  if (code === 'STORAGE_ERROR' || code === 'STORAGE_CLOSED' || code === 'CLOSED') return 503
  return undefined
}
