// Opens a connection to a checked address.
// Invariant: every address is checked before a connection is opened to it, and the connected address again before a byte is
// written.

import { lookup } from 'node:dns/promises'
import { createConnection, isIP, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import type { Clock } from 'holdfast'
import { FederationError } from '../errors.ts'
import type { AddressRule } from './address-rule.ts'
import type { Address, Connector, Resolver } from './client.ts'
import type { Target } from './target.ts'
import { timeoutError } from './transport-error.ts'

export interface Route {
  readonly rule: AddressRule
  /** Host names, in lower case, that are allowed at any address. */
  readonly allowHosts: ReadonlySet<string>
  readonly resolver: Resolver
  readonly connector: Connector
  readonly connectTimeoutMs: number
  readonly clock: Clock
}

export const systemResolver: Resolver = async (hostname) => {
  const found = await lookup(hostname, { all: true, order: 'verbatim' })
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }))
}

export const systemConnector: Connector = ({ address, port }) =>
  createConnection({ host: address.address, port, family: address.family, noDelay: true })

/** Returns all addresses of the host. @throws FederationError ADDRESS_REFUSED if any of them may not be contacted */
export async function checkedAddresses(route: Route, { hostname }: Target): Promise<readonly Address[]> {
  const literal = isIP(hostname)
  const addresses: readonly Address[] =
    literal === 0 ? await route.resolver(hostname) : [{ address: hostname, family: literal === 6 ? 6 : 4 }]
  if (addresses.length === 0) throw Object.assign(new Error(`${hostname} has no address`), { code: 'ENOTFOUND' })
  // A mix of allowed and refused addresses is the pattern of DNS rebinding.
  if (!addresses.every(({ address }) => mayContact(route, hostname, address))) throw addressRefused(hostname)
  return addresses
}

/** Returns a connection that is ready for writes. Fails when the signal aborts, and after the route's connectTimeoutMs. */
export async function connect(route: Route, target: Target, signal: AbortSignal): Promise<Socket> {
  const abort = new AbortController()
  const onAbort = (): void => abort.abort(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  const { connectTimeoutMs: ms, clock } = route
  const timer = clock.after(ms, () => abort.abort(timeoutError(`no connection within ${ms} ms`)))
  try {
    const addresses = await orAborted(checkedAddresses(route, target), abort.signal)
    const socket = await connectToAny(route, target, addresses, abort.signal)
    return target.secure ? await startTls(socket, target, abort.signal) : socket
  } finally {
    timer.cancel()
    signal.removeEventListener('abort', onAbort)
  }
}

/** Tries the addresses one after the other. Each has a share of the time, so that a silent one leaves time for the rest. */
async function connectToAny(
  route: Route,
  target: Target,
  addresses: readonly Address[],
  signal: AbortSignal,
): Promise<Socket> {
  const share = route.connectTimeoutMs / (addresses.length + 1)
  let failure: unknown
  for (const [index, address] of addresses.entries()) {
    const abort = new AbortController()
    const onAbort = (): void => abort.abort(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    const timer =
      index < addresses.length - 1
        ? route.clock.after(share, () =>
            abort.abort(timeoutError(`no connection to ${address.address} within its share of the time`)),
          )
        : undefined
    try {
      return await connectTo(route, target, address, abort.signal)
    } catch (error) {
      if (signal.aborted || error instanceof FederationError) throw error
      failure = error
    } finally {
      timer?.cancel()
      signal.removeEventListener('abort', onAbort)
    }
  }
  throw failure
}

async function connectTo(route: Route, target: Target, address: Address, signal: AbortSignal): Promise<Socket> {
  const { hostname, port } = target
  const socket = route.connector({ hostname, address, port })
  await waitFor(socket, 'connect', signal, !socket.connecting && socket.remoteAddress !== undefined)
  const { remoteAddress } = socket
  if (remoteAddress !== undefined && mayContact(route, hostname, remoteAddress)) return socket
  socket.destroy()
  if (remoteAddress === undefined) throw closedEarly()
  throw addressRefused(hostname)
}

async function startTls(socket: Socket, { hostname }: Target, signal: AbortSignal): Promise<TLSSocket> {
  const secure = connectTls({
    socket,
    // A server name must be a name. The certificate of an IP literal is compared with `host`.
    servername: isIP(hostname) === 0 ? hostname : '',
    host: hostname,
    // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED has no effect.
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    ALPNProtocols: ['http/1.1'],
  })
  await waitFor(secure, 'secureConnect', signal, false)
  return secure
}

/** Waits for the event. An error, a close or an abort before it destroys the socket. */
function waitFor(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  signal: AbortSignal,
  already: boolean,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: unknown): void => {
      socket.off(event, succeed).off('error', settle).off('close', closed)
      signal.removeEventListener('abort', abort)
      if (error === undefined) return resolve()
      // A destroyed socket may emit further errors.
      socket.on('error', () => undefined).destroy()
      reject(error as Error)
    }
    const succeed = (): void => settle()
    const closed = (): void => settle(closedEarly())
    const abort = (): void => settle(signal.reason)
    socket.once(event, succeed).once('error', settle).once('close', closed)
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    else if (already) succeed()
  })
}

/** Settles with the work, or rejects when the signal aborts first. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error)
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

function mayContact(route: Route, hostname: string, address: string): boolean {
  return route.allowHosts.has(hostname) || route.rule(address)
}

function closedEarly(): Error {
  return Object.assign(new Error('the server closed the connection before it was ready'), { code: 'ECONNRESET' })
}

function addressRefused(hostname: string): FederationError {
  const message = `${hostname}: its address is not public. Nothing was sent. To allow it: http.allowCidrs or http.allowHosts.`
  return new FederationError('ADDRESS_REFUSED', message)
}
