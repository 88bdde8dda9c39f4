// The guarded HTTP client: all outbound requests use it. It checks the URL (target.ts), every address of the host and the address
// that was connected to (connect.ts), and limits the size and time of the reply (exchange.ts).

import type { ClientRequestArgs } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from 'holdfast'
import { FederationError } from '../errors.ts'
import type { UnhealthyReason } from '../peers/threats.ts'
import { seedPolicies } from '../policies.ts'
import { addressRule } from './address-rule.ts'
import { checkedAddresses, connect, orAborted, type Route, systemConnector, systemResolver } from './connect.ts'
import { exchange, openingOf, StaleConnection } from './exchange.ts'
import { type Open, PeerAgents } from './peer-agents.ts'
import { type Target, targetOf, type TargetRule } from './target.ts'
import { timeoutError, transportError, unmarkedTransportError } from './transport-error.ts'

export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** One deadline in ms for DNS, connect, TLS, send, headers and body together. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal
}

export interface HttpResponse {
  readonly status: number
  /** Header names are in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Uint8Array
  /** Address that was connected to. Undefined if the connection ended before the reply was read. */
  readonly remoteAddress?: string | undefined
}

export interface HttpClient {
  /**
   * Sends a request. Every status is a response, 3xx included.
   * @throws FederationError ORIGIN_INVALID, ADDRESS_REFUSED: nothing was sent; TRANSPORT: with a `reason` if the peer is at fault
   */
  request(url: string, request: HttpRequest): Promise<HttpResponse>
  /**
   * Checks whether this URL may be contacted. Sends nothing.
   * @throws FederationError ADDRESS_REFUSED, ORIGIN_INVALID; TRANSPORT: its name has no address
   */
  check(url: string): Promise<void>
  /** Aborts running requests. Later requests are refused. */
  close(): void
}

export interface HttpOptions {
  /** Address ranges that may be contacted although they are not public. @default [] */
  readonly allowCidrs?: readonly string[]
  /** Host names that may be contacted at any address. @default [] */
  readonly allowHosts?: readonly string[]
  /** Ports besides 443 for https and 80 for http. @default [] */
  readonly allowPorts?: readonly number[]
  /** Allow `http:` URLs. @default false */
  readonly allowHttp?: boolean
  /** Largest reply, in bytes. @default 262_144 */
  readonly maxResponseBytes?: number
  /** Deadline in ms for DNS, connect and TLS together. @default 5_000 */
  readonly connectTimeoutMs?: number
  /** Replaces DNS, in tests. @default the system's */
  readonly resolver?: Resolver
  /** Replaces the TCP connection, in tests. The client runs TLS over the socket that it returns. @default the system's */
  readonly connector?: Connector
}

export interface Address {
  readonly address: string
  readonly family: 4 | 6
}

export type Resolver = (hostname: string) => Promise<readonly Address[]>
export type Connector = (options: {
  readonly hostname: string
  readonly address: Address
  readonly port: number
}) => Socket

export type TransportReason = UnhealthyReason

/** @throws HoldfastError INVALID_ARGUMENT for an invalid range */
export function createHttpClient(options: HttpOptions, clock: Clock): HttpClient & { readonly peers: number } {
  const targets: TargetRule = { allowHttp: options.allowHttp ?? false, allowPorts: new Set(options.allowPorts) }
  const route: Route = {
    rule: addressRule(options.allowCidrs),
    allowHosts: new Set(options.allowHosts?.map((host) => host.toLowerCase())),
    resolver: options.resolver ?? systemResolver,
    connector: options.connector ?? systemConnector,
    connectTimeoutMs: options.connectTimeoutMs ?? seedPolicies.delivery.connectTimeoutMs,
    clock,
  }
  const maxBytes = options.maxResponseBytes ?? seedPolicies.http.maxResponseBytes
  const open: Open = (request, opened) => {
    const { target, signal } = openingOf(request)
    connect(route, target, signal).then((socket) => opened(null, socket), opened)
  }
  const agents = new PeerAgents(open)
  const running = new Set<AbortController>()
  let isClosed = false

  /** Runs a request that ends at its deadline, with the caller's signal, or at close(). */
  async function within<T>(
    ms: number,
    caller: AbortSignal | undefined,
    run: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    if (isClosed) throw closed()
    const abort = new AbortController()
    const onCallerAbort = (): void =>
      abort.abort(unmarkedTransportError('The caller aborted the request.', caller?.reason))
    const timer = clock.after(ms, () => abort.abort(timeoutError(`no answer within ${ms} ms`)))
    running.add(abort)
    caller?.addEventListener('abort', onCallerAbort, { once: true })
    try {
      if (caller?.aborted) onCallerAbort()
      abort.signal.throwIfAborted()
      return await run(abort.signal)
    } catch (error) {
      throw error instanceof FederationError ? error : transportError(error)
    } finally {
      timer.cancel()
      running.delete(abort)
      caller?.removeEventListener('abort', onCallerAbort)
    }
  }

  async function ask(target: Target, request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    const entry = agents.acquire(target.origin)
    try {
      return await exchange(target, request, { via: { agent: entry.agent }, maxBytes, signal })
    } catch (error) {
      if (!(error instanceof StaleConnection)) throw error
    } finally {
      entry.release()
    }
    // Send it again on a new connection. Whether the server has read the first one is unknown, and does not matter: a retry of
    // the job sends the same request twice, too.
    const via = { createConnection: open as ClientRequestArgs['createConnection'] }
    return await exchange(target, request, { via, maxBytes, signal })
  }

  return {
    request: async (url, request) => {
      const target = targetOf(url, targets)
      return await within(request.timeoutMs, request.signal, (signal) => ask(target, request, signal))
    },
    check: async (url) => {
      const target = targetOf(url, targets)
      await within(route.connectTimeoutMs, undefined, (signal) => orAborted(checkedAddresses(route, target), signal))
    },
    close: () => {
      isClosed = true
      for (const abort of running) abort.abort(closed())
      agents.close()
    },
    get peers() {
      return agents.size
    },
  }
}

function closed(): FederationError {
  return unmarkedTransportError('The HTTP client is closed: the federation was stopped.')
}
