// Refusals: the table of codes and their HTTP status. Routes throw a refusal, and handler.ts answers it.

export const refusalStatus = {
  INVALID_JSON: 400,
  REQUEST_BROKEN_OFF: 400,
  INVALID_PAYLOAD: 400,
  INVALID_FEDERATED_POST_PAYLOAD: 400,
  INVALID_TARGETED_DATA: 400,
  INVALID_PROXY_DATA: 400,
  DECRYPT_FAILED: 400,
  STALE_MESSAGE: 400,
  ORIGIN_INVALID: 400,
  ADDRESS_REFUSED: 400,
  KEYS_MISMATCH: 400,
  PIN_MISMATCH: 400,
  ORIGIN_MISMATCH: 403,
  BLACKLISTED_FEDERATION_SERVER: 403,
  UNKNOWN_FEDERATION_SERVER_INTERACTION: 403,
  INVALID_SIGNATURE: 403,
  RELAY_DISABLED: 403,
  ROTATION_DISABLED: 403,
  INCORRECT_KEYS: 403,
  NOT_FOUND: 404,
  KEY_NOT_REGISTERED: 404,
  METHOD_NOT_ALLOWED: 405,
  REQUEST_TIMEOUT: 408,
  PAYLOAD_TOO_LARGE: 413,
  ENCODING_NOT_SUPPORTED: 415,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
  METHOD_NOT_SUPPORTED: 501,
  DISCOVERY_FAILED: 502,
  FAILED_TO_PROXY_REQUEST: 502,
  ORIGIN_MISSING: 503,
  DECISION_PENDING: 503,
} as const

export type RefusalCode = keyof typeof refusalStatus

interface RefusalData {
  /** Origin of the sender, as far as it is known or claimed. */
  readonly from?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly cause?: unknown
}

/** Answers a request with a status other than 200. */
export class Refusal extends Error {
  readonly code: string
  readonly status: number
  readonly from: string | undefined
  readonly headers: Readonly<Record<string, string>>

  /** @param code a code of the table, or the code of an app's handler */
  constructor(code: string, status: number, message: string, { from, headers = {}, cause }: RefusalData = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.status = status
    this.from = from
    this.headers = headers
  }
}

export const refuse = (code: RefusalCode, message: string, data?: RefusalData): Refusal =>
  new Refusal(code, refusalStatus[code], message, data)
