// The guarded HTTP client: the only way out. What is asked is judged by its URL (target.ts), by every address of its name and
// by the address that was connected to (connect.ts); the reply by its size and its time (exchange.ts).

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

/** Rejects with FederationError ORIGIN_INVALID or ADDRESS_REFUSED (nothing was sent), or TRANSPORT with a `reason` where the peer is to be marked by it. */
export interface HttpClient {
  /** Every status is an answer, 3xx too. */
  request(url: string, request: HttpRequest): Promise<HttpResponse>
  /** Whether this URL may be contacted, without doing it. @throws FederationError ADDRESS_REFUSED, ORIGIN_INVALID; TRANSPORT: its name has no address */
  check(url: string): Promise<void>
  /** Ends what is under way; nothing can be asked afterwards. */
  close(): void
}

export interface HttpOptions {
  /** Ranges that may be contacted though they are not public. @default [] */
  readonly allowCidrs?: readonly string[]
  /** Names that may be contacted whatever they resolve to. @default [] */
  readonly allowHosts?: readonly string[]
  /** Besides 443 for https and 80 for http. @default [] */
  readonly allowPorts?: readonly number[]
  /** @default false */
  readonly allowHttp?: boolean
  /** @default 262144 */
  readonly maxResponseBytes?: number
  /** Over DNS, connect and TLS. @default 5000 */
  readonly connectTimeoutMs?: number
  /** For tests. */
  readonly resolver?: Resolver
  /** For tests. TLS is spoken over what it opens. */
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

/** @throws HoldfastError INVALID_ARGUMENT for a range that is none */
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
  const underWay = new Set<AbortController>()
  let isClosed = false

  /** Runs it under one deadline, the caller's signal and close(). */
  async function within<T>(
    ms: number,
    caller: AbortSignal | undefined,
    run: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    if (isClosed) throw closed()
    const ending = new AbortController()
    const giveUp = (): void => ending.abort(unmarkedTransportError('The caller gave up.', caller?.reason))
    const timer = clock.after(ms, () => ending.abort(timeoutError(`no answer within ${ms} ms`)))
    underWay.add(ending)
    caller?.addEventListener('abort', giveUp, { once: true })
    try {
      if (caller?.aborted) giveUp()
      ending.signal.throwIfAborted()
      return await run(ending.signal)
    } catch (error) {
      throw error instanceof FederationError ? error : transportError(error)
    } finally {
      timer.cancel()
      underWay.delete(ending)
      caller?.removeEventListener('abort', giveUp)
    }
  }

  async function ask(target: Target, request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    const held = agents.hold(target.origin)
    try {
      return await exchange(target, request, { via: { agent: held.agent }, maxBytes, signal })
    } catch (error) {
      if (!(error instanceof StaleConnection)) throw error
    } finally {
      held.release()
    }
    // Once more, on a connection of its own. Whether the server had read the request is unknown, and does not matter: all that
    // is sent here may come twice, for a job that is tried again sends it again too.
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
      for (const ending of underWay) ending.abort(closed())
      agents.close()
    },
    get peers() {
      return agents.size
    },
  }
}

function closed(): FederationError {
  return unmarkedTransportError('The client is closed.')
}
