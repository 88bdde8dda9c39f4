// A Fedify server on loopback with one actor, its keys and an inbox, and with queue and store of this package. The end-to-end
// tests use it too.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  createExponentialBackoffPolicy,
  createFederation,
  type Federation,
  generateCryptoKeyPair,
} from '@fedify/fedify'
import { Create, Delete, Endpoints, Note, Person } from '@fedify/vocab'
import { HoldfastKvStore, HoldfastMessageQueue, type HoldfastMessageQueueOptions } from '@holdfast/fedify'
import type { Storage } from 'holdfast'

/** Answers in place of the inbox and returns false, or returns true. */
type Filter = (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>

export interface Site {
  readonly federation: Federation<void>
  readonly queue: HoldfastMessageQueue
  readonly kv: HoldfastKvStore
  /** The activities that the inbox listener received: kind and id. */
  readonly received: string[]
}

export interface Server extends Site {
  readonly origin: string
  /** Called before each POST. */
  filter: Filter | undefined
  send(to: Server, kind: 'Create' | 'Delete', id: string, orderingKey?: string): Promise<void>
  close(): Promise<void>
}

/** To make a pair takes about a second: only a server that signs or shows its key needs one. */
const newKeys = (): Promise<CryptoKeyPair> => generateCryptoKeyPair('RSASSA-PKCS1-v1_5')

/**
 * The federation without an HTTP server, as a worker needs it.
 *
 * @param name of its queue and its store, in the storage
 * @param keysOf called when keys are needed, once
 */
export function openSite(
  storage: Storage,
  name: string,
  options: HoldfastMessageQueueOptions = {},
  keysOf: (name: string) => Promise<CryptoKeyPair> = newKeys,
): Site {
  const received: string[] = []
  const kv = new HoldfastKvStore(storage, { name })
  const queue = new HoldfastMessageQueue(storage, {
    name,
    backoff: { type: 'exponential', delayMs: 200, maxDelayMs: 500 },
    ...options,
  })
  const federation = createFederation<void>({
    kv,
    queue,
    allowPrivateAddress: true,
    manuallyStartQueue: true,
    outboxRetryPolicy: createExponentialBackoffPolicy({ initialDelay: { milliseconds: 200 } as never }),
  })
  let keys: Promise<CryptoKeyPair> | undefined
  federation
    .setActorDispatcher('/users/{identifier}', async (context, identifier) => {
      const [pair] = await context.getActorKeyPairs(identifier)
      return new Person({
        id: context.getActorUri(identifier),
        preferredUsername: identifier,
        inbox: context.getInboxUri(identifier),
        endpoints: new Endpoints({ sharedInbox: context.getInboxUri() }),
        publicKey: pair?.cryptographicKey,
      })
    })
    .setKeyPairsDispatcher(async () => [await (keys ??= keysOf(name))])
  federation
    .setInboxListeners('/users/{identifier}/inbox', '/inbox')
    .on(Create, (_context, activity) => void received.push(`Create ${activity.id?.pathname}`))
    .on(Delete, (_context, activity) => void received.push(`Delete ${activity.id?.pathname}`))
  return { federation, queue, kv, received }
}

export async function startServer(
  storage: Storage,
  name: string,
  options?: HoldfastMessageQueueOptions,
  keysOf?: (name: string) => Promise<CryptoKeyPair>,
): Promise<Server> {
  const site = openSite(storage, name, options, keysOf)
  const http = createServer((request, response) => {
    serve(server, request, response).catch((error: unknown) => response.writeHead(500).end(String(error)))
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  const server: Server = {
    ...site,
    origin,
    filter: undefined,
    send: async (to, kind, id, orderingKey) => {
      const context = site.federation.createContext(new URL(origin))
      const actor = context.getActorUri('alice')
      const about = { id: new URL(`/${id}`, origin), actor, to: new URL('/users/bob', to.origin) }
      const object = new Note({ id: new URL('/notes/1', origin), attribution: actor, content: 'Hello' })
      const activity =
        kind === 'Create' ? new Create({ ...about, object }) : new Delete({ ...about, object: object.id })
      const recipient = { id: about.to, inboxId: new URL('/users/bob/inbox', to.origin) }
      await context.sendActivity({ identifier: 'alice' }, recipient, activity, { orderingKey })
    },
    close: async () => {
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
      await site.queue.close()
      await site.kv.close()
    },
  }
  return server
}

async function serve(server: Server, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = incoming.method === 'POST' ? Buffer.concat(await incoming.toArray()) : undefined
  if (body && server.filter && !(await server.filter(incoming, response))) return
  const headers = Object.entries(incoming.headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  )
  const request = new Request(new URL(incoming.url!, server.origin), { method: incoming.method, headers, body })
  const answer = await server.federation.fetch(request, { contextData: undefined })
  response.writeHead(answer.status, Object.fromEntries(answer.headers))
  response.end(Buffer.from(await answer.arrayBuffer()))
}
