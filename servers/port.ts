// Ports on the loopback interface: whether somebody listens, and which are free.
//
// The latter not by binding port 0: that gives a port of the range from which the system also numbers outgoing connections. While a
// server is down between a kill and its restart, a client that tries to reconnect could be given that very port, connect
// to itself, and keep the server from coming back. Below that range only a listener can take a port.

import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'

// Linux numbers outgoing connections from 32768 on, macOS and Windows from 49152.
const lowest = 16_000
const beyond = 32_000
const tries = 100

/** Free at this moment: whoever binds it later must be ready to hear that it was taken meanwhile. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < tries; attempt++) {
    const port = randomInt(lowest, beyond)
    if (await isFree(port)) return port
  }
  throw new Error(`no free port found between ${lowest} and ${beyond} in ${tries} tries`)
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

/** Whether somebody listens there. */
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
