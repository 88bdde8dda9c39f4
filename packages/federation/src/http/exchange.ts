// One request and its reply over HTTP/1.1. Redirects are not followed, nothing is decompressed, and a reply that is too long is
// cut off.

import { type ClientRequest, type ClientRequestArgs, type IncomingMessage, request as httpRequest } from 'node:http'
import type { HttpRequest, HttpResponse } from './client.ts'
import type { Target } from './target.ts'
import { unmarkedTransportError } from './transport-error.ts'

const maxHeaderBytes = 16 * 1024

/** The header limit does not cover interim replies (1xx), so they have a limit of their own. */
const maxInterimReplies = 8

/** The server closed a kept-alive connection before a byte of the reply came. */
export class StaleConnection extends Error {}

export interface ExchangeOptions {
  /** Source of the connection. */
  readonly via: Pick<ClientRequestArgs, 'agent'> | Pick<ClientRequestArgs, 'createConnection'>
  readonly maxBytes: number
  readonly signal: AbortSignal
}

/** Rejects with the error of the socket or the signal's reason, with TRANSPORT for a refused reply, or with a StaleConnection. */
export function exchange(target: Target, request: HttpRequest, options: ExchangeOptions): Promise<HttpResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<HttpResponse>()
  const { signal } = options
  const sent = send(target, request, options)
  let answered = false
  let interim = 0

  const abort = (): void => {
    sent.destroy()
    reject(signal.reason as Error)
  }
  signal.addEventListener('abort', abort, { once: true })
  promise.catch(() => undefined).finally(() => signal.removeEventListener('abort', abort))

  sent.on('information', () => {
    if (++interim > maxInterimReplies) sent.destroy(unmarkedTransportError('The server sent too many interim replies.'))
  })
  sent.on('upgrade', (_, socket) => {
    socket.destroy()
    reject(unmarkedTransportError('The server switched to another protocol without a request for it.'))
  })
  sent.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'HPE_HEADER_OVERFLOW' || error.code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') {
      return reject(unmarkedTransportError(`The headers of the reply are larger than ${maxHeaderBytes} bytes.`, error))
    }
    const isStale = sent.reusedSocket && !answered && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
    reject(isStale ? new StaleConnection(error.message, { cause: error }) : error)
  })
  sent.on('response', (response) => {
    answered = true
    const { socket } = response
    read(response, options.maxBytes).then(resolve, (error: Error) => {
      // The socket itself: after a short reply the request has already returned it to the agent.
      socket.destroy()
      reject(error)
    })
  })
  if (signal.aborted) abort()
  else sent.end(request.body)
  return promise
}

function send(target: Target, { method, headers, body }: HttpRequest, { via, signal }: ExchangeOptions): ClientRequest {
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
  const options: ClientRequestArgs & { readonly opening: Opening } = {
    ...via,
    method,
    host: target.hostname,
    port: target.port,
    path: target.path,
    // Own headers last, so that a caller cannot set another host.
    headers: { ...lowerCased(headers), ...length, 'accept-encoding': 'identity', host: target.host },
    maxHeaderSize: maxHeaderBytes,
    insecureHTTPParser: false,
    opening: { target, signal },
  }
  return httpRequest(options)
}

/** The target of a new connection. It is passed through the options of the request. */
export interface Opening {
  readonly target: Target
  readonly signal: AbortSignal
}

export function openingOf(options: ClientRequestArgs): Opening {
  return (options as unknown as { readonly opening: Opening }).opening
}

async function read(response: IncomingMessage, maxBytes: number): Promise<HttpResponse> {
  const { 'content-encoding': content = 'identity', 'transfer-encoding': transfer = 'chunked' } = response.headers
  if (content.toLowerCase() !== 'identity' || transfer.toLowerCase() !== 'chunked') {
    throw unmarkedTransportError('The reply is compressed although the request asked for identity encoding.')
  }
  const tooLarge = (): Error => unmarkedTransportError(`The reply is larger than ${maxBytes} bytes.`)
  if (Number(response.headers['content-length'] ?? 0) > maxBytes) throw tooLarge()
  // Read first: a socket that has ended has no address any more.
  const { remoteAddress } = response.socket
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxBytes) throw tooLarge()
    chunks.push(chunk)
  }
  const body = Buffer.concat(chunks, bytes)
  return { status: response.statusCode ?? 0, headers: flat(response), body, remoteAddress }
}

function flat(response: IncomingMessage): Record<string, string | undefined> {
  const entries = Object.entries(response.headers)
  return Object.fromEntries(entries.map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]))
}

function lowerCased(headers: HttpRequest['headers'] = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
