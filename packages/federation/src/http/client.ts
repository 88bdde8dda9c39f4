// The guarded HTTP client: the only way out. (types first; the client itself belongs in this folder)

import type { UnhealthyReason } from '../peers/threats.ts'

export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** One deadline over DNS, connect, TLS, send, headers and body. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal
}

export interface HttpResponse {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Uint8Array
}

/** Rejects with FederationError ADDRESS_REFUSED (nothing was sent), or TRANSPORT with a `reason` where the peer is to be marked by it. */
export interface HttpClient {
  request(url: string, request: HttpRequest): Promise<HttpResponse>
  /** Whether this URL may be contacted, without doing it. @throws FederationError ADDRESS_REFUSED, ORIGIN_INVALID */
  check(url: string): Promise<void>
  close(): void
}

export interface HttpOptions {
  /** Ranges that may be contacted though they are not public. @default [] */
  readonly allowCidrs?: readonly string[]
  /** Names that may be contacted whatever they resolve to. @default [] */
  readonly allowHosts?: readonly string[]
  /** @default [443], and [80] with allowHttp */
  readonly allowPorts?: readonly number[]
  /** @default false */
  readonly allowHttp?: boolean
  readonly maxResponseBytes?: number
  readonly connectTimeoutMs?: number
  /** For tests. */
  readonly resolver?: Resolver
  readonly connector?: Connector
}

export interface Address {
  readonly address: string
  readonly family: 4 | 6
}

export type Resolver = (hostname: string) => Promise<readonly Address[]>
export type Connector = (options: {
  readonly address: Address
  readonly port: number
  readonly servername: string | undefined
}) => import('node:net').Socket

export type TransportReason = UnhealthyReason
