// An app that federates: its own pages and its federation on one node:http server, with all data in one SQLite file.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  createFederation,
  type Federation,
  type KeyringText,
  keyringFromBase64,
  nodeListener,
  sqliteStore,
} from '@holdfast/federation'
import { SqliteStorage } from 'holdfast/sqlite'

export interface App {
  readonly origin: string
  readonly federation: Federation
  stop(): Promise<void>
}

export interface AppOptions {
  /** Keys of this server. Generate them once with generateKeyText(), and store them as a secret. */
  readonly keys: KeyringText
  /** Path of the SQLite file. */
  readonly path: string
  /** Users of this app. */
  readonly users: ReadonlySet<string>
  /** Ports of the other servers on this machine. A server on the internet does not need the option `http`. */
  readonly peerPorts: readonly number[]
  readonly log: (line: string) => void
}

export async function listen(): Promise<Server & { port: number }> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return Object.assign(server, { port: (server.address() as AddressInfo).port })
}

export async function startApp(
  server: Server & { port: number },
  { keys, path, users, peerPorts, log }: AppOptions,
): Promise<App> {
  const origin = `http://127.0.0.1:${server.port}`
  const storage = new SqliteStorage({ path })
  const federation = createFederation({
    origin,
    storage,
    store: sqliteStore({ storage }), // the same file: a follow, its delivery and its job are one commit
    keyring: keyringFromBase64(keys),
    http: { allowHttp: true, allowCidrs: ['127.0.0.0/8'], allowPorts: peerPorts },
    handlers: {
      FEDERATE: ({ from, body: { following } }) => {
        if (!users.has(following.followingId)) return { reject: 'USER_NOT_FOUND' }
        log(`${following.followerId} of ${from} follows ${following.followingId}`)
        return { accepted: true }
      },
      FEDERATE_POST: ({ from, body: { post }, messageKey }) => {
        const [block] = post.content
        log(`${post.authorId} of ${from} writes: ${block?.type === 'text' ? block.value : block?.type}`)
        return { id: messageKey }
      },
    },
    acks: {
      // open() decrypts and verifies the acknowledgement.
      'deliver-post': async (ack) => log(`${ack.serverUrl} acknowledged the post: ${JSON.stringify(await ack.open())}`),
    },
  })

  // Longer than other servers keep their connections.
  server.keepAliveTimeout = 35_000
  const federated = nodeListener(federation.handler)
  server.on('request', (request, response) => {
    if (request.url === '/') response.end('the app itself\n')
    else federated(request, response)
  })
  await federation.start()

  return {
    origin,
    federation,
    stop: async () => {
      await federation.stop()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
