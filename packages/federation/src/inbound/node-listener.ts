// A handler as a listener of node:http. Bodies stay streams: what nobody reads is not read from the socket.

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { systemClock } from 'holdfast'
import type { FederationHandler } from './handler.ts'

/** Of a request that was refused before its end: so much more is read and thrown away, so that its sender sees the answer. */
const [leftBytes, leftMs] = [256 * 1024, 1_000]

export function nodeListener(handler: FederationHandler): RequestListener {
  return (incoming, outgoing) => {
    // Of a client that went away before its answer came.
    outgoing.on('error', () => {})
    respond(handler, incoming, outgoing).catch(() => {
      if (outgoing.headersSent) outgoing.destroy()
      else end(incoming, outgoing, 500, 'something went wrong here', 'INTERNAL_ERROR')
    })
  }
}

async function respond(handler: FederationHandler, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const request = requestOf(incoming)
  if (!request) return end(incoming, outgoing, 405, 'not with this verb', 'METHOD_NOT_ALLOWED')
  const response = await handler(request, { remoteAddress: incoming.socket.remoteAddress })
  if (outgoing.destroyed) return
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  if (response.body) for await (const chunk of response.body) outgoing.write(chunk)
  outgoing.end()
  if (!incoming.complete) throwAway(incoming)
}

/** Where no handler has answered. */
function end(incoming: IncomingMessage, outgoing: ServerResponse, status: number, error: string, code: string): void {
  outgoing.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify({ error, code }))
  if (!incoming.complete) throwAway(incoming)
}

/** Undefined: of a kind that the web's requests do not have. */
function requestOf(incoming: IncomingMessage): Request | undefined {
  const { method = 'GET', url = '/' } = incoming
  const headers = new Headers()
  const raw = incoming.rawHeaders
  // Where it was sent to does not matter, only the path does.
  const target = `http://localhost${url.startsWith('/') ? url : '/'}`
  try {
    for (let index = 0; index < raw.length; index += 2) headers.append(raw[index]!, raw[index + 1]!)
    if (method === 'GET' || method === 'HEAD') return new Request(target, { method, headers })
    return new Request(target, { method, headers, body: bodyOf(incoming), duplex: 'half' })
  } catch {
    return undefined
  }
}

/** Unlike that of Readable.toWeb(), one that is cancelled leaves the socket open for the answer. */
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
          if (!isCancelled && !incoming.complete) controller.error(new Error('the request was broken off'))
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

function throwAway(incoming: IncomingMessage): void {
  const { socket } = incoming
  let length = 0
  const timer = systemClock.after(leftMs, () => socket.destroy(), { keepsAlive: false })
  incoming.on('data', (chunk: Uint8Array) => {
    length += chunk.byteLength
    if (length > leftBytes) socket.destroy()
  })
  incoming.once('close', () => timer.cancel())
  incoming.on('end', () => timer.cancel())
  incoming.resume()
}
