// Ports on the loopback interface: whether a server listens, and which are free.
//
// A free port is not found by binding port 0, which gives a port of the range for outgoing connections. While a
// server is down between a kill and its restart, a client that tries to reconnect could get that port, connect
// to itself, and keep the server from restarting. Below that range only a listener can take a port.

import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'

// Linux uses ports from 32768 on for outgoing connections, macOS and Windows from 49152.
const lowest = 16_000
const beyond = 32_000
const tries = 100

/** A port that is free now. It may be taken before the caller binds it. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < tries; attempt++) {
    const port = randomInt(lowest, beyond)
    if (await isFree(port)) return port
  }
  throw new Error(`port: no free port found between ${lowest} and ${beyond} in ${tries} tries`)
}

function isFree(port: number): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>()
  const server = createServer()
  server.once('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EADDRINUSE' || error.code === 'EACCES') resolve(false)
    else reject(error)
  })
  server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  return promise
}

/** Whether a server accepts connections on the port. */
export async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
