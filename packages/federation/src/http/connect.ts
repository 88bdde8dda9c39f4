// Opens a connection to a checked address, and to no other.
// Invariant: every address was judged before it is connected to, and the one that was connected to before anything is written.

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
  /** In lower case: these may be anywhere. */
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

/** All that the host resolves to. @throws FederationError ADDRESS_REFUSED if any of it may not be contacted */
export async function checkedAddresses(route: Route, { hostname }: Target): Promise<readonly Address[]> {
  const literal = isIP(hostname)
  const addresses: readonly Address[] =
    literal === 0 ? await route.resolver(hostname) : [{ address: hostname, family: literal === 6 ? 6 : 4 }]
  if (addresses.length === 0) throw Object.assign(new Error(`${hostname} has no address`), { code: 'ENOTFOUND' })
  // One bad answer among good ones is what a name looks like that is about to be pointed elsewhere.
  if (!addresses.every(({ address }) => mayContact(route, hostname, address))) throw addressRefused(hostname)
  return addresses
}

/** A connection that is ready to be written to. Ends with the signal, and after the route's connectTimeoutMs. */
export async function connect(route: Route, target: Target, signal: AbortSignal): Promise<Socket> {
  const ending = new AbortController()
  const end = (): void => ending.abort(signal.reason)
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  const { connectTimeoutMs: ms, clock } = route
  const timer = clock.after(ms, () => ending.abort(timeoutError(`no connection within ${ms} ms`)))
  try {
    const addresses = await orAborted(checkedAddresses(route, target), ending.signal)
    const socket = await firstToConnect(route, target, addresses, ending.signal)
    return target.secure ? await secured(socket, target, ending.signal) : socket
  } finally {
    timer.cancel()
    signal.removeEventListener('abort', end)
  }
}

/** One after the other; each has its share of the time, so that a silent one does not use up that of the rest. */
async function firstToConnect(
  route: Route,
  target: Target,
  addresses: readonly Address[],
  signal: AbortSignal,
): Promise<Socket> {
  const share = route.connectTimeoutMs / (addresses.length + 1)
  let failure: unknown
  for (const [index, address] of addresses.entries()) {
    const own = new AbortController()
    const end = (): void => own.abort(signal.reason)
    signal.addEventListener('abort', end, { once: true })
    const timer =
      index < addresses.length - 1
        ? route.clock.after(share, () =>
            own.abort(timeoutError(`no connection to ${address.address} within its share`)),
          )
        : undefined
    try {
      return await connected(route, target, address, own.signal)
    } catch (error) {
      if (signal.aborted || error instanceof FederationError) throw error
      failure = error
    } finally {
      timer?.cancel()
      signal.removeEventListener('abort', end)
    }
  }
  throw failure
}

async function connected(route: Route, target: Target, address: Address, signal: AbortSignal): Promise<Socket> {
  const { hostname, port } = target
  const socket = route.connector({ hostname, address, port })
  await opened(socket, 'connect', signal, !socket.connecting && socket.remoteAddress !== undefined)
  const { remoteAddress } = socket
  if (remoteAddress !== undefined && mayContact(route, hostname, remoteAddress)) return socket
  socket.destroy()
  if (remoteAddress === undefined) throw Object.assign(new Error('closed while it was opened'), { code: 'ECONNRESET' })
  throw addressRefused(hostname)
}

async function secured(socket: Socket, { hostname }: Target, signal: AbortSignal): Promise<TLSSocket> {
  const secure = connectTls({
    socket,
    // Names only; a literal is compared as `host`.
    servername: isIP(hostname) === 0 ? hostname : '',
    host: hostname,
    // Said, so that no variable of the environment unsays it.
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    ALPNProtocols: ['http/1.1'],
  })
  await opened(secure, 'secureConnect', signal, false)
  return secure
}

/** Waits for the event; whatever comes instead destroys the socket. */
function opened(
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
      // It may have more to say while it goes.
      socket.on('error', () => undefined).destroy()
      reject(error as Error)
    }
    const succeed = (): void => settle()
    const closed = (): void => settle(Object.assign(new Error('closed while it was opened'), { code: 'ECONNRESET' }))
    const abort = (): void => settle(signal.reason)
    socket.once(event, succeed).once('error', settle).once('close', closed)
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    else if (already) succeed()
  })
}

/** The work's end, or the signal's, whichever comes first. */
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

function addressRefused(hostname: string): FederationError {
  return new FederationError('ADDRESS_REFUSED', `${hostname} is at an address that may not be contacted.`)
}
