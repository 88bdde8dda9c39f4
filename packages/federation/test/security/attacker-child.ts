// A hostile server in its own process: each path is an attack. Sends its port to its parent.

import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { gzipSync } from 'node:zlib'

const size = 64 * 1024 * 1024
const block = Buffer.alloc(64 * 1024, 'x')

/** Writes as fast as the client reads, until `size` or until it disconnects. */
function pour(into: Socket | ServerResponse, bytes: Buffer): void {
  let left = size
  const more = (): void => {
    while (left > 0 && !into.destroyed) {
      left -= bytes.length
      if (!into.write(bytes)) return void into.once('drain', more)
    }
    into.end()
  }
  more()
}

const attacks: Readonly<Record<string, RequestListener>> = {
  '/plain': (_, response) => response.end(Buffer.alloc(250 * 1024, 'x')),
  '/huge': (_, response) => pour(response, block),
  '/declared': (_, response) => pour(response.writeHead(200, { 'content-length': size }), block),
  '/gzip': (_, response) => {
    // Each block is a thousand times larger when it is decompressed.
    pour(response.writeHead(200, { 'content-encoding': 'gzip' }), gzipSync(Buffer.alloc(size)))
  },
  '/drip': (_, response) => {
    const timer = setInterval(() => response.write('x'), 100)
    response.once('close', () => clearInterval(timer))
  },
  '/headers': (_, response) => {
    response.socket!.write('HTTP/1.1 200 OK\r\n')
    pour(response.socket!, Buffer.from(`x-${'a'.repeat(1000)}: ${'b'.repeat(1000)}\r\n`))
  },
  '/interim': (_, response) => {
    pour(response.socket!, Buffer.from('HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n'))
  },
  '/extensions': (_, response) => {
    response.socket!.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;')
    pour(response.socket!, block)
  },
  '/trailers': (_, response) => {
    response.socket!.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n')
    pour(response.socket!, Buffer.from(`x-${'a'.repeat(1000)}: ${'b'.repeat(1000)}\r\n`))
  },
}

const server = createServer((request, response) => {
  response.on('error', () => undefined)
  attacks[request.url!]!(request, response)
})
server.on('connection', (socket) => socket.on('error', () => undefined))
server.listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as AddressInfo).port }))
process.on('disconnect', () => process.exit())
