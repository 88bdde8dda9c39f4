// A sender in this process, and many peers in another one. The peers are known to the sender, as on a server that has run for a while.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import {
  createFederation,
  type Federation,
  type FederationOptions,
  generateKeyText,
  keyringFromBase64,
  sqliteStore,
  type Store,
} from '@holdfast/federation'
import { MemoryStorage, type Storage } from 'holdfast'
import { SqliteStorage } from 'holdfast/sqlite'
import type { PeerCard, PeersConfig, PeersReady } from './peers.ts'

export interface ManyPeersOptions extends Pick<FederationOptions, 'profile' | 'policies'> {
  readonly peers: number
  /** Processes that answer for them, with as many peers each. @default 1 */
  readonly processes?: number
  /** Of ten peers, so many are dead. @default 0 */
  readonly deadOfTen?: number
  /** Folder of the database; undefined for memory. */
  readonly folder?: string | undefined
  /** Where jobs and tables are instead. */
  readonly place?: { readonly storage: Storage; readonly store: Store }
  /** Called when an attempt signs its message. */
  readonly onSign?: () => void
}

export interface ManyPeers extends AsyncDisposable {
  readonly federation: Federation
  readonly peers: readonly PeerCard[]
}

export async function startPeers(options: ManyPeersOptions): Promise<ManyPeers> {
  const { peers: count, processes = 1, deadOfTen = 0, profile = 'hardened', folder, onSign, policies } = options
  const keys = generateKeyText()
  const { publicKey, encryptionPublicKey } = keys
  const config: PeersConfig = { count: count / processes, deadOfTen, sender: { publicKey, encryptionPublicKey } }
  const children = Array.from({ length: processes }, () =>
    fork(new URL('peers.ts', import.meta.url), [JSON.stringify(config)]),
  )
  const ready = await Promise.all(children.map(async (child) => (await once(child, 'message')) as [PeersReady]))
  const ports = ready.flatMap(([one]) => one.ports)
  const peers = ready.flatMap(([one]) => one.peers)
  const { storage, store } = options.place ?? placeIn(folder)
  const keyring = keyringFromBase64(keys)
  const federation = createFederation({
    profile,
    origin: 'http://sender.test',
    storage,
    store,
    ...(policies && { policies }),
    keyring: {
      current: (use) => keyring.current(use),
      byKid: (kid) => keyring.byKid(kid),
      sign: (...args) => (onSign?.(), keyring.sign(...args)),
      agree: (...args) => keyring.agree(...args),
    },
    http: { allowHttp: true, allowCidrs: ['127.0.0.0/8'], allowPorts: ports, resolver },
  })
  await federation.connect()
  for (const { origin, ...pinned } of peers) await store.peers.pin({ url: origin, ...pinned }, Date.now())
  return {
    federation,
    peers,
    [Symbol.asyncDispose]: async () => {
      await federation.stop({ graceMs: 0 })
      for (const child of children) {
        if (child.connected) child.disconnect()
        if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      }
    },
  }
}

function placeIn(folder: string | undefined): NonNullable<ManyPeersOptions['place']> {
  if (folder === undefined) return { storage: new MemoryStorage(), store: sqliteStore({ path: ':memory:' }) }
  const storage = new SqliteStorage({ path: join(folder, 'sender.db') })
  return { storage, store: sqliteStore({ storage }) }
}

/** @param share from 0 to 1 */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN
}

async function resolver(hostname: string): Promise<{ address: string; family: 4 }[]> {
  if (hostname.endsWith('.test')) return [{ address: '127.0.0.1', family: 4 }]
  throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' })
}
