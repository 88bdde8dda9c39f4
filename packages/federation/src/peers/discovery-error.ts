// Why the keys of a server could not be had.

import { FederationError } from '../errors.ts'

export type DiscoveryErrorCode = 'UNREACHABLE' | 'INVALID' | 'PIN_MISMATCH' | 'ADDRESS_REFUSED'

export class DiscoveryError extends FederationError {
  declare readonly code: DiscoveryErrorCode
  /** Canonical. */
  readonly origin: string
  constructor(code: DiscoveryErrorCode, origin: string, message: string, cause?: unknown) {
    super(code, message, { cause })
    this.name = 'DiscoveryError'
    this.origin = origin
  }
}
