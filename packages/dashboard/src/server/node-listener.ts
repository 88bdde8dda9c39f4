// Adapts a dashboard to node:http, and to what is built on it, such as Express.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'

/** A request of node:http. Express keeps the whole path in `originalUrl`, and a body that a parser has read in `body`. */
type Incoming = IncomingMessage & { readonly originalUrl?: string; readonly body?: unknown }

/** Returns a listener for createServer() of node:http, or for app.use() of Express. */
export function nodeListener(
  dashboard: (request: Request) => Promise<Response>,
): (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void> {
  return async (incoming, outgoing) => {
    const gone = new AbortController()
    outgoing.once('close', () => gone.abort())
    // A viewer that leaves before the answer causes an error event.
    outgoing.on('error', () => {})
    const request = requestOf(incoming, gone.signal)
    if (!request) return void outgoing.writeHead(400).end()
    try {
      await send(await dashboard(request), outgoing)
    } catch {
      // A rejection here would end the process, for one viewer.
      outgoing.destroy()
    }
  }
}

async function send({ status, headers, body }: Response, outgoing: ServerResponse): Promise<void> {
  if (outgoing.destroyed) return void (await body?.cancel())
  outgoing.writeHead(status, Object.fromEntries(headers))
  outgoing.flushHeaders()
  if (!body) return void outgoing.end()
  const reader = body.getReader()
  outgoing.once('close', () => void reader.cancel().catch(() => {}))
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    if (!outgoing.write(part.value)) await new Promise((resolve) => drained(outgoing, resolve))
  }
  outgoing.end()
}

function drained(outgoing: ServerResponse, resolve: (value: undefined) => void): void {
  outgoing.once('drain', resolve)
  outgoing.once('close', resolve)
}

/** Undefined for a request that the class Request cannot represent, such as TRACE, or one with an invalid host. */
function requestOf(incoming: Incoming, signal: AbortSignal): Request | undefined {
  const { method = 'GET', url = '/', originalUrl = url, rawHeaders, headers } = incoming
  const isEncrypted = 'encrypted' in incoming.socket
  try {
    const target = new URL(`${isEncrypted ? 'https' : 'http'}://${headers.host ?? 'localhost'}`)
    const [path = '/', query = ''] = split(originalUrl)
    target.pathname = path
    target.search = query
    const given = new Headers()
    for (let index = 0; index < rawHeaders.length; index += 2) given.append(rawHeaders[index]!, rawHeaders[index + 1]!)
    const hasBody = method !== 'GET' && method !== 'HEAD'
    return new Request(target, {
      method,
      headers: given,
      signal,
      ...(hasBody && { body: bodyOf(incoming), duplex: 'half' }),
    })
  } catch {
    return undefined
  }
}

function split(url: string): [path: string, query: string] {
  const mark = url.indexOf('?')
  return mark === -1 ? [url, ''] : [url.slice(0, mark), url.slice(mark)]
}

/** Node.js has no name for it. */
type RequestBody = RequestInit['body']

/** A body that a parser has read is gone from the stream. */
function bodyOf(incoming: Incoming): RequestBody {
  if (incoming.readableEnded && incoming.body !== undefined) return JSON.stringify(incoming.body)
  return Readable.toWeb(incoming) as unknown as RequestBody
}
