// Every error of the federation: one table of codes, the class, and how the engine is told that trying again will not help.

import { UnrecoverableError } from 'holdfast'

/** Each code with what it means. docs/federation/errors.md has the same list; a test compares them. */
export const federationErrorCodes = {
  ORIGIN_INVALID: 'A URL does not name a server: it must be https, without user info, path, query or fragment.',
  ADDRESS_REFUSED: 'The address, port or scheme is not one that may be contacted. `http.allow…` admits more.',
  TRANSPORT: 'The server did not answer: `reason` says why. Also: its reply was too large, or compressed.',
  DECRYPT_FAILED: 'An envelope could not be opened. Nothing more is said on purpose.',
  CONFIG_MISSING: 'A setting that is needed is absent; the message names it.',
  CONFIG_INVALID: 'A setting has a value that it must not have; the message names it.',
  KEY_INVALID: 'A key has the wrong length, is no safe key, or its halves do not belong together.',
  MESSAGE_INVALID: 'A message does not have the shape of its kind; the message of the error names the place.',
  MIGRATION_PENDING: 'The tables are older than this version. Run store.migrate(), or open with `migrate: true`.',
  PAYLOAD_MALFORMED: 'The payload of a delivery is no JSON object.',
  METHOD_INVALID: 'The method of a delivery is not one of `policies.methods`.',
  TARGET_MISMATCH: 'A delivery’s target is not on the server that it is for.',
  PEER_BLACKLISTED: 'The operator blocked this server.',
  DISCOVERY_FAILED: 'The keys of a server could not be fetched. `cause` says why.',
  PIN_MISMATCH: 'A server shows other keys than those that are pinned. Nothing was changed.',
  ORIGIN_MISSING: 'This server’s own origin is not set.',
  HTTP_STATUS: 'The server answered with `status`, which is no success.',
  RESPONSE_NOT_JSON: 'The reply to a delivery is no JSON.',
  ACK_MISSING: 'The reply to a delivery is no acknowledgement.',
  ACK_INVALID: 'An acknowledgement does not open, or is not about this delivery.',
  SIGNING_KEY_MISSING: 'No signing key is known for the server that acknowledged.',
  ACK_SIGNATURE_INVALID: 'An acknowledgement was not signed by the server it comes from.',
  UNREACHABLE: 'Discovery: the server did not answer.',
  INVALID: 'Discovery: the reply is not about this server, or its keys are none.',
} as const

export type FederationErrorCode = keyof typeof federationErrorCodes

export class FederationError extends Error {
  readonly code: FederationErrorCode
  constructor(
    code: FederationErrorCode,
    message: string,
    data: { readonly cause?: unknown; readonly [field: string]: unknown } = {},
  ) {
    const { cause, ...fields } = data
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'FederationError'
    this.code = code
    Object.assign(this, fields)
  }
}

/** Ends a job at once. `error.code` says why, as that of a FederationError does. */
export function unrecoverable(code: FederationErrorCode, message: string, cause?: unknown): UnrecoverableError {
  return new UnrecoverableError(message, { cause: new FederationError(code, message, { cause }) })
}

/** Of a FederationError, or of what an UnrecoverableError was made for. */
export function federationCodeOf(error: unknown): FederationErrorCode | undefined {
  if (error instanceof FederationError) return error.code
  if (error instanceof UnrecoverableError && error.cause instanceof FederationError) return error.cause.code
  return undefined
}
