// The error of a discovery.

import { FederationError } from '../errors.ts'

export type DiscoveryErrorCode = 'UNREACHABLE' | 'INVALID' | 'PIN_MISMATCH' | 'ADDRESS_REFUSED'

/** The keys of a server could not be fetched, or may not be used. */
export class DiscoveryError extends FederationError {
  declare readonly code: DiscoveryErrorCode
  /** Canonical origin; of an invalid URL, its first 253 characters. */
  readonly origin: string
  constructor(code: DiscoveryErrorCode, origin: string, message: string, cause?: unknown) {
    super(code, message, { cause })
    this.name = 'DiscoveryError'
    this.origin = origin
  }
}
