// The dashboard of `holdfast dashboard`: on loopback, for the person who started the command. Invariants: without the link that the command
// printed there is no access, and the link works once: what a history, a log or a shared screen keeps of it opens nothing.

// oxlint-disable-next-line no-restricted-imports -- R7 is for randomness that a test may repeat. A token that can be guessed guards nothing.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Storage } from '../storage/storage.ts'
import type { DashboardPackage } from './load-dashboard.ts'

export interface ServedDashboard {
  /** With its token: opens the dashboard once, in one browser. */
  readonly url: string
  close(): Promise<void>
}

interface ServeOptions {
  readonly storage: Storage
  readonly dashboard: DashboardPackage
  /** 0: a free one. */
  readonly port: number
  readonly actor: string
  /** Nothing can be changed. */
  readonly isReadOnly: boolean
}

const address = '127.0.0.1'

/** @throws if the port is taken */
export async function serveDashboard(options: ServeOptions): Promise<ServedDashboard> {
  const { storage, port, actor, isReadOnly } = options
  const { createDashboard, nodeListener, permissions } = options.dashboard
  const can = isReadOnly ? permissions.filter((permission) => permission.startsWith('view')) : permissions
  const entry = new Entry()
  const dashboard = createDashboard({
    storage,
    hosts: [address, 'localhost'],
    authorize: (request) => entry.refusal(request) ?? { actor, can },
  })
  const server = createServer(nodeListener(dashboard))
  server.listen(port, address)
  await once(server, 'listening')
  const bound = (server.address() as AddressInfo).port
  // Browsers share cookies between the ports of a host.
  entry.cookie = `holdfast-${bound}`
  return {
    url: `http://${address}:${bound}/?token=${entry.token}`,
    async close() {
      await dashboard.close()
      server.close()
      server.closeAllConnections()
    },
  }
}

/** Exchanges the token of the link, once, for a cookie. */
class Entry {
  readonly token = secret()
  readonly #session = secret()
  cookie = 'holdfast'
  #isUsed = false

  /** What to answer instead. Undefined: the request has the cookie. */
  refusal(request: Request): Response | undefined {
    const { searchParams } = new URL(request.url)
    if (isEqual(this.#given(request), this.#session)) {
      // A reload of the link: the address bar loses the token.
      return searchParams.has('token') ? toStart() : undefined
    }
    const token = searchParams.get('token')
    if (token !== null && request.method === 'GET' && !this.#isUsed && isEqual(token, this.token)) {
      this.#isUsed = true
      const cookie = `${this.cookie}=${this.#session}; HttpOnly; SameSite=Strict; Path=/`
      return toStart({ 'set-cookie': cookie })
    }
    const why = token === null ? 'Open it with the link that the command printed.' : 'The link was used before.'
    return new Response(`${why} Run holdfast dashboard again for a new one.\n`, {
      status: 403,
      headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' },
    })
  }

  #given(request: Request): string {
    const pairs = (request.headers.get('cookie') ?? '').split(/;\s*/)
    return pairs.find((pair) => pair.startsWith(`${this.cookie}=`))?.slice(this.cookie.length + 1) ?? ''
  }
}

/** Never to a path of the request: one that begins with two slashes would name another server. */
function toStart(headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(null, {
    status: 303,
    headers: { location: '/', 'cache-control': 'no-store', 'referrer-policy': 'no-referrer', ...headers },
  })
}

const secret = (): string => randomBytes(32).toString('base64url')

const hashed = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Hashed first: the comparison needs texts of one length. */
function isEqual(given: string, expected: string): boolean {
  return timingSafeEqual(hashed(given), hashed(expected))
}
