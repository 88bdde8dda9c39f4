// The errors of the federation: the table of codes, the class, and the error that tells the engine not to retry.

import { UnrecoverableError } from 'holdfast'

/** Codes and their meanings. docs/federation/errors.md has the same list; a test compares the two. */
export const federationErrorCodes = {
  ORIGIN_INVALID: 'A URL does not name a server. It must be https, without user info, path, query or fragment.',
  ADDRESS_REFUSED: 'The address, port or scheme may not be contacted. The options `http.allow…` admit more.',
  TRANSPORT: 'The server did not answer; `reason` has the cause. Also: its reply was too large, or compressed.',
  DECRYPT_FAILED: 'An envelope could not be decrypted. The error has no detail, which would help an attacker.',
  CONFIG_MISSING: 'A required setting is absent. The message names it.',
  CONFIG_INVALID: 'A setting has an impossible value. The message names it.',
  KEY_INVALID: 'A key has the wrong length, is unsafe, or its private and public halves do not match.',
  MESSAGE_INVALID: 'A message does not have the shape of its kind. The error names the field.',
  MIGRATION_PENDING: 'The tables are older than this version. Run store.migrate(), or open with `migrate: true`.',
  PAYLOAD_MALFORMED: 'The payload of a delivery is not a JSON object.',
  METHOD_INVALID: 'The method of a delivery is not one of `policies.methods`.',
  TARGET_MISMATCH: 'The target URL of a delivery is not on the server that the delivery names.',
  PEER_BLACKLISTED: 'The operator blocked this server.',
  BODY_MISSING: 'The stored body of a delivery is gone: its row was removed.',
  NOT_ITS_TURN: 'An earlier delivery to this server with the same order key is open. The delivery waits.',
  PEER_HELD: 'The server is not contacted now, after a failure. The delivery waits.',
  PEER_REFUSES: 'The server accepts other deliveries and answers this one with an error, again and again.',
  PEER_GONE:
    'The server has said for a day that it has ended (410). A message of it, or peers.probe(), takes that back.',
  BACKLOG_FULL:
    'More deliveries wait for the server than `policies.delivery.maxPerPeer`. The oldest ones end, without their body.',
  EXPIRED: 'The delivery is older than `policies.delivery.horizonMs`.',
  DISCOVERY_FAILED: 'The keys of a server could not be fetched. `cause` has the reason.',
  PIN_MISMATCH: 'A server shows keys that differ from the pinned ones. The pin is unchanged.',
  ORIGIN_MISSING: 'The origin of this server is not set.',
  HTTP_STATUS: 'The server answered with `status`, which is not a success.',
  RESPONSE_NOT_JSON: 'The reply to a delivery is not JSON.',
  ACK_MISSING: 'The reply to a delivery is not an acknowledgement.',
  ACK_INVALID: 'An acknowledgement cannot be decrypted, or does not belong to this delivery.',
  SIGNING_KEY_MISSING: 'No signing key is pinned for the server that acknowledged.',
  ACK_SIGNATURE_INVALID: 'An acknowledgement is not signed by the pinned key of its server.',
  UNREACHABLE: 'Discovery: the server did not answer.',
  INVALID: 'Discovery: the reply does not describe this server, or its keys are unusable.',
} as const

export type FederationErrorCode = keyof typeof federationErrorCodes

/** Message of ORIGIN_MISSING. */
export const originMissing =
  'federation: the origin of this server is not set. Nothing was sent. Set the option origin, or BETTER_AUTH_URL.'

/** An error with a code of the table, and fields that its code documents (`reason`, `status`). */
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

/** Returns an error that ends a job without a retry. Its `cause` is a FederationError with the code. */
export function unrecoverable(code: FederationErrorCode, message: string, cause?: unknown): UnrecoverableError {
  return new UnrecoverableError(message, { cause: new FederationError(code, message, { cause }) })
}

/** Returns the code of a FederationError, or of the one that an UnrecoverableError has as its cause. */
export function federationCodeOf(error: unknown): FederationErrorCode | undefined {
  if (error instanceof FederationError) return error.code
  if (error instanceof UnrecoverableError && error.cause instanceof FederationError) return error.cause.code
  return undefined
}
