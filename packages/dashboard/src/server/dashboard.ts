// createDashboard(): a function from requests to responses. Every request passes the same steps, in this order: host, authorization,
// route, permission, and for a write its origin and token.

import { Assets } from './assets.ts'
import { Audit } from './audit.ts'
import { authorized, type Granted } from './authorize.ts'
import { BulkActions } from './bulk-actions.ts'
import { Handles } from './handles.ts'
import { errorResponse, forbidden, RequestError } from './http/errors.ts'
import { appPage, refusalPage } from './http/pages.ts'
import { jsonResponse, respond } from './http/responses.ts'
import { checkWrite, readBody, tokenFor } from './http/write-guard.ts'
import { type DashboardOptions, type ResolvedOptions, resolveDashboardOptions } from './options.ts'
import type { Call, Context } from './route.ts'
import { views, writes } from './routes.ts'
import { newSecret } from './secret.ts'
import { SharedReads } from './shared-reads.ts'
import { Streams, type StreamedView } from './streams.ts'
import { readCounts } from './views/counts.ts'
import type { Permission } from '../shared/permissions.ts'

/** Answers requests of browsers. Never rejects. */
export interface Dashboard extends AsyncDisposable {
  (request: Request): Promise<Response>
  /** Ends its streams and bulk actions, and disconnects. A handle that was given stays open. */
  close(): Promise<void>
}

/**
 * Makes a dashboard for the jobs of every face on a storage. Mount it under `basePath` of any server that has Request and Response;
 * nodeListener() adapts it to node:http and Express.
 * @throws TypeError INVALID_ARGUMENT
 */
export function createDashboard(options: DashboardOptions): Dashboard {
  const server = new DashboardServer(resolveDashboardOptions(options))
  const close = (): Promise<void> => server.close()
  return Object.assign((request: Request) => server.answer(request), { close, [Symbol.asyncDispose]: close })
}

class DashboardServer {
  readonly #options: ResolvedOptions
  readonly #context: Context
  readonly #streams: Streams
  readonly #assets = new Assets()

  constructor(options: ResolvedOptions) {
    const { clock, basePath, logger, peers, secret = newSecret() } = options
    this.#options = options
    const handles = new Handles(options)
    this.#context = {
      clock,
      basePath,
      peers,
      handles,
      reads: new SharedReads(clock),
      bulk: new BulkActions(clock),
      audit: new Audit({ logger, clock, admin: handles.reader }),
      token: (actor) => tokenFor(secret, actor),
    }
    this.#streams = new Streams(clock, (error) => this.#context.audit.failed(error))
  }

  async close(): Promise<void> {
    this.#streams.close()
    await this.#context.bulk.close()
    await this.#context.handles.close()
  }

  async answer(request: Request): Promise<Response> {
    const url = new URL(request.url)
    let actor: string | undefined
    try {
      const { hosts, basePath, authorize } = this.#options
      if (hosts && !hosts.includes(url.hostname)) {
        throw forbidden(
          'HOST',
          'The dashboard is not served under this host name. The option hosts lists those that are.',
        )
      }
      if (url.pathname !== basePath && !url.pathname.startsWith(`${basePath}/`)) throw notFound()
      const granted = await authorized(authorize, request, (error) => this.#context.audit.failed(error))
      if (granted instanceof Response) {
        if (granted.status === 403) this.#audit(request, url, undefined, 'AUTHORIZE', 'authorize() refused it.')
        return granted
      }
      actor = granted.actor
      const response = await this.#route(request, url, url.pathname.slice(basePath.length + 1), granted)
      return request.method === 'HEAD' ? new Response(null, response) : response
    } catch (thrown) {
      return this.#refuse(request, url, actor, thrown)
    }
  }

  async #route(request: Request, url: URL, path: string, granted: Granted): Promise<Response> {
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    if (path.startsWith('api/')) return this.#api(request, url, path.slice('api/'.length), granted)
    if (!isRead) throw new RequestError(405, 'METHOD_NOT_ALLOWED', 'Only GET is supported here.')
    need(granted, 'view')
    if (!path.startsWith('assets/')) {
      // Every view needs the counts: they are read while the browser loads the app.
      readCounts(this.#context).catch(() => {})
      return appPage(this.#options.basePath, await this.#assets.manifest())
    }
    const asset = await this.#assets.get(path.slice('assets/'.length))
    if (!asset) throw notFound()
    return asset
  }

  async #api(request: Request, url: URL, path: string, { actor, can }: Granted): Promise<Response> {
    const call: Call = { actor, can, query: url.searchParams, isStream: false, body: {} }
    if (request.method === 'POST') {
      const write = writes.find((route) => route.path === path)
      if (!write) throw notFound()
      need(call, write.permission)
      checkWrite(request, this.#context.token(actor), this.#options.hosts)
      return jsonResponse(await write.run(this.#context, { ...call, body: await readBody(request) }))
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw new RequestError(405, 'METHOD_NOT_ALLOWED', 'Only GET and POST are supported.')
    }
    if (path === 'stream') {
      need(call, 'view')
      if (request.method === 'HEAD') return respond(null, 200)
      const streamed = url.searchParams.getAll('of').map((of) => this.#streamed(of, call))
      return this.#streams.open(streamed, request)
    }
    const view = views.find((route) => route.path === path)
    if (!view) {
      const isWrite = writes.some((route) => route.path === path)
      throw isWrite ? new RequestError(405, 'METHOD_NOT_ALLOWED', 'Only POST is supported here.') : notFound()
    }
    need(call, view.permission)
    return jsonResponse(await view.run(this.#context, call))
  }

  /** @param of path and query of a view @throws RequestError */
  #streamed(of: string, call: Call): StreamedView {
    const mark = of.indexOf('?')
    const path = mark === -1 ? of : of.slice(0, mark)
    const view = views.find((route) => route.path === path)
    if (!view || path === 'session') throw new RequestError(400, 'INVALID_ARGUMENT', 'of: there is no such view.')
    need(call, view.permission)
    const query = new URLSearchParams(mark === -1 ? '' : of.slice(mark + 1))
    return { of, read: () => view.run(this.#context, { ...call, query, isStream: true }) }
  }

  #audit({ method }: Request, { pathname: path }: URL, actor: string | undefined, code: string, why: string): void {
    this.#context.audit.refused({ actor, code, method, path }, why)
  }

  #refuse(request: Request, url: URL, actor: string | undefined, thrown: unknown): Response {
    const { audit } = this.#context
    if (thrown instanceof RequestError && thrown.status === 403) {
      this.#audit(request, url, actor, thrown.code, thrown.message)
      const isPage = request.method === 'GET' && (request.headers.get('accept') ?? '').includes('text/html')
      if (isPage) return refusalPage(403, thrown.message)
    }
    return errorResponse(thrown, (error) => audit.failed(error))
  }
}

function need({ can }: Pick<Granted, 'can'>, permission: Permission): void {
  if (!can.has(permission)) throw forbidden('PERMISSION', `This needs the permission ${permission}.`)
}

const notFound = (): RequestError => new RequestError(404, 'NOT_FOUND', 'There is nothing at this address.')
