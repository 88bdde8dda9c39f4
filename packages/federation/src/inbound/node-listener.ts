// Adapts a handler to node:http. Bodies stay streams: bytes that the handler does not read stay in the socket.

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { systemClock } from 'holdfast/storage'
import type { FederationHandler } from './handler.ts'

/** How much of a refused request is read and discarded, so that its sender receives the response before the socket closes. */
const [drainBytes, drainMs] = [256 * 1024, 1_000]

/** Returns a request listener for createServer() of node:http. */
export function nodeListener(handler: FederationHandler): RequestListener {
  return (incoming, outgoing) => {
    // A client that disconnects before the response causes an error event.
    outgoing.on('error', () => {})
    respond(handler, incoming, outgoing).catch(() => {
      if (outgoing.headersSent) outgoing.destroy()
      else end(incoming, outgoing, 500, 'internal error', 'INTERNAL_ERROR')
    })
  }
}

async function respond(handler: FederationHandler, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const request = requestOf(incoming)
  if (!request) return end(incoming, outgoing, 405, 'this HTTP method is not supported', 'METHOD_NOT_ALLOWED')
  const response = await handler(request, { remoteAddress: incoming.socket.remoteAddress })
  if (outgoing.destroyed) return
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  if (response.body) for await (const chunk of response.body) outgoing.write(chunk)
  outgoing.end()
  if (!incoming.complete) drain(incoming)
}

/** Responds where the handler has not. */
function end(incoming: IncomingMessage, outgoing: ServerResponse, status: number, error: string, code: string): void {
  outgoing.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify({ error, code }))
  if (!incoming.complete) drain(incoming)
}

/** Returns undefined for a request that the class Request cannot represent, such as TRACE. */
function requestOf(incoming: IncomingMessage): Request | undefined {
  const { method = 'GET', url = '/' } = incoming
  const headers = new Headers()
  const raw = incoming.rawHeaders
  // Routes depend on the path only, so the host is fixed.
  const target = `http://localhost${url.startsWith('/') ? url : '/'}`
  try {
    for (let index = 0; index < raw.length; index += 2) headers.append(raw[index]!, raw[index + 1]!)
    if (method === 'GET' || method === 'HEAD') return new Request(target, { method, headers })
    return new Request(target, { method, headers, body: bodyOf(incoming), duplex: 'half' })
  } catch {
    return undefined
  }
}

/** Unlike Readable.toWeb(), this stream leaves the socket open when it is cancelled, for the response. */
function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  incoming.pause()
  let isCancelled = false
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        incoming.on('data', (chunk: Uint8Array) => {
          if (isCancelled) return
          incoming.pause()
          controller.enqueue(chunk)
        })
        incoming.on('end', () => isCancelled || controller.close())
        incoming.on('close', () => {
          if (!isCancelled && !incoming.complete) controller.error(new Error('the client closed the request'))
        })
        incoming.pause()
      },
      pull: () => void incoming.resume(),
      cancel() {
        isCancelled = true
        incoming.pause()
      },
    },
    { highWaterMark: 0 },
  )
}

function drain(incoming: IncomingMessage): void {
  const { socket } = incoming
  let length = 0
  const timer = systemClock.after(drainMs, () => socket.destroy(), { keepsAlive: false })
  incoming.on('data', (chunk: Uint8Array) => {
    length += chunk.byteLength
    if (length > drainBytes) socket.destroy()
  })
  incoming.once('close', () => timer.cancel())
  incoming.on('end', () => timer.cancel())
  incoming.resume()
}
