// Opens the socket that postgres.js then uses. The driver opens it, and not the library, to be able to destroy it at once.

import { connect, type Socket } from 'node:net'
import { connectionLost } from './errors.ts'

export interface SocketSettings {
  readonly host: readonly string[]
  readonly port: readonly number[]
  readonly path?: string | false
  readonly socket?: (settings: SocketSettings) => Promise<Socket> | Socket
}

/**
 * Resolves with a socket that is connected to the first host that accepts it.
 * @param tries rotates the host to begin with
 * @param onNew receives each socket while it connects
 */
export async function openSocket(
  settings: SocketSettings,
  tries: number,
  onNew: (socket: Socket) => void,
): Promise<Socket> {
  if (settings.socket) return await settings.socket(settings)
  const { path, host, port } = settings
  if (path) return await connected(connect({ path }), onNew)
  for (let left = host.length; ; left--, tries++) {
    const index = tries % host.length
    try {
      const to = { host: host[index]!, port: port[index]!, ...tcpSettings }
      // The library reads the name to verify the certificate against from `host` of the socket.
      return Object.assign(await connected(connect(to), onNew), { host: host[index] })
    } catch (error) {
      if (left <= 1) throw error
    }
  }
}

const tcpSettings = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 10_000 } as const

async function connected(socket: Socket, onNew: (socket: Socket) => void): Promise<Socket> {
  onNew(socket)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  socket.once('connect', resolve)
  socket.once('error', reject)
  // The only event of a socket that is destroyed while it connects.
  socket.once('close', () => reject(connectionLost()))
  await promise
  return socket.removeAllListeners()
}
