// Classifies transport errors into the reasons that peers are marked with.

import type { UnhealthyReason } from './threats.ts'

const byCode: Readonly<Record<string, UnhealthyReason>> = {
  ENOTFOUND: 'DNS_BLOCKED',
  EAI_AGAIN: 'DNS_BLOCKED',
  ECONNREFUSED: 'CONN_REFUSED',
  ECONNRESET: 'CONN_RESET',
  ETIMEDOUT: 'CONN_RESET',
  EPIPE: 'CONN_RESET',
}

/** Codes of OpenSSL and Node for an invalid chain, name or handshake. EPROTO: a TLS alert, or no TLS at all. */
const tlsCode =
  /^(ERR_TLS|ERR_SSL|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED_CERT$|SELF_SIGNED_CERT_IN_CHAIN$|ERROR_IN_CERT_|ERROR_IN_CRL_|HOSTNAME_MISMATCH$|INVALID_CA$|INVALID_PURPOSE$|PATH_LENGTH_EXCEEDED$|EPROTO$)/

/** Returns the reason of an error of a socket, lookup, TLS handshake or deadline. Causes are searched, too. */
export function classifyTransportError(error: unknown): UnhealthyReason {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    if (at.name === 'AbortError' || at.name === 'TimeoutError') return 'TIMEOUT'
    const code: unknown = (at as NodeJS.ErrnoException).code
    if (typeof code !== 'string') continue
    if (Object.hasOwn(byCode, code)) return byCode[code]!
    if (tlsCode.test(code)) return 'TLS_ERROR'
  }
  return 'UNKNOWN'
}
