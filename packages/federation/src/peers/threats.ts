// The reasons for an unhealthy peer, and what each one allows.

export type UnhealthyReason =
  | 'DNS_BLOCKED'
  | 'TIMEOUT'
  | 'CONN_REFUSED'
  | 'CONN_RESET'
  | 'TLS_ERROR'
  | 'INVALID_RESPONSE_FROM_TARGET'
  | 'UNKNOWN'

export interface ThreatPolicy {
  /** Whether a delivery may be sent by a relay. */
  readonly proxyEligible: boolean
  /** Whether a health check may contact the peer. */
  readonly directHealthCheckable: boolean
}

export const defaultThreats: Readonly<Record<UnhealthyReason, ThreatPolicy>> = {
  DNS_BLOCKED: { proxyEligible: true, directHealthCheckable: false },
  TIMEOUT: { proxyEligible: false, directHealthCheckable: true },
  CONN_REFUSED: { proxyEligible: false, directHealthCheckable: true },
  CONN_RESET: { proxyEligible: false, directHealthCheckable: true },
  TLS_ERROR: { proxyEligible: false, directHealthCheckable: true },
  INVALID_RESPONSE_FROM_TARGET: { proxyEligible: true, directHealthCheckable: false },
  UNKNOWN: { proxyEligible: true, directHealthCheckable: true },
}
