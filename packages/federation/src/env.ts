// The names of the seed: thin wrappers over one federation (profile seed) that is made, on demand, of the environment. The only
// file that reads it.

import type { Storage } from 'holdfast'
import { PostgresStorage } from 'holdfast/postgres'
import { RedisStorage } from 'holdfast/redis'
import { SqliteStorage } from 'holdfast/sqlite'
import { assemble } from './create.ts'
import { FederationError } from './errors.ts'
import type { Federation } from './federation.ts'
import type { HttpOptions } from './http/client.ts'
import { type Keyring, keyringFromBase64 } from './keyring.ts'
import { canonicalOrigin } from './origin.ts'
import { getThreatPolicy as policyOf } from './peers/threat-policy.ts'
import type { ThreatPolicy, UnhealthyReason } from './peers/threats.ts'
import { seedPolicies } from './policies.ts'
import { openRedis, type RedisConnection } from './redis-connections.ts'
import { postgresStore } from './store/postgres/postgres-store.ts'
import { sqliteStore } from './store/sqlite/sqlite-store.ts'
import type { Store } from './store/store.ts'

let federation: Federation | undefined
let keyring: Keyring | undefined
let producing: RedisConnection | undefined
let working: RedisConnection | undefined

// ── the singletons ───────────────────────────────────────────────────────────────────────────────────────────────────

/** For those who add jobs. @throws FederationError CONFIG_MISSING without REDIS_URL, HoldfastError MISSING_DEPENDENCY */
export function getRedisConnection(): RedisConnection {
  return (producing ??= openRedis(redisUrl()))
}

/** For workers. @throws as getRedisConnection */
export function getRedisWorkerConnection(): RedisConnection {
  return (working ??= openRedis(redisUrl()))
}

/** The one of this process. @throws FederationError CONFIG_MISSING, CONFIG_INVALID, ORIGIN_INVALID */
export function getFederation(): Federation {
  return (federation ??= fromEnvironment())
}

/** Stops and forgets it, and both connections. */
export async function resetFederationForTests(): Promise<void> {
  const [stopped, ...connections] = [federation, producing, working] as const
  federation = keyring = producing = working = undefined
  await stopped?.stop({ graceMs: 0 })
  for (const connection of connections) connection?.disconnect()
}

// ── the seed's names ─────────────────────────────────────────────────────────────────────────────────────────────────

/** @throws FederationError CONFIG_MISSING without REDIS_URL (or FEDERATION_STORAGE_URL) */
export const getFederationQueue = (): Federation['deliveryQueue'] => getFederation().deliveryQueue

/** @throws FederationError CONFIG_MISSING without REDIS_URL (or FEDERATION_STORAGE_URL) */
export const getHealthCheckQueue = (): Federation['healthCheckQueue'] => getFederation().healthCheckQueue

/** Starts both workers, once. @throws FederationError CONFIG_MISSING, KEY_INVALID */
export function startFederationWorker(): ReturnType<Federation['startWorkers']> {
  const ours = getFederation()
  ownKeyring()
  return ours.startWorkers()
}

type Member =
  | 'scheduleHealthCheck'
  | 'processFederationDelivery'
  | 'processHealthCheck'
  | 'handleFollowAck'
  | 'discoverAndRegister'
  | 'federationFetch'
  | 'markServerHealthy'
  | 'markServerUnhealthy'

function member<M extends Member>(name: M): Federation[M] {
  const call = async (...args: unknown[]): Promise<unknown> =>
    (getFederation()[name] as (...args: unknown[]) => Promise<unknown>)(...args)
  return call as unknown as Federation[M]
}

/** See the members of a Federation. */
export const scheduleHealthCheck = member('scheduleHealthCheck')
export const processFederationDelivery = member('processFederationDelivery')
export const processHealthCheck = member('processHealthCheck')
export const handleFollowAck = member('handleFollowAck')
export const discoverAndRegister = member('discoverAndRegister')
export const federationFetch = member('federationFetch')
export const markServerHealthy = member('markServerHealthy')
export const markServerUnhealthy = member('markServerUnhealthy')

export const getThreatPolicy = (reason: UnhealthyReason): ThreatPolicy => policyOf(seedPolicies, reason)

// ── the environment ──────────────────────────────────────────────────────────────────────────────────────────────────

function fromEnvironment(): Federation {
  const http = httpOptions()
  const own = process.env['BETTER_AUTH_URL']
  const origin = own ? canonicalOrigin(own, { allowHttp: http.allowHttp ?? false }) : undefined
  const { storage, workerStorage, store } = places()
  return assemble({ storage, workerStorage, store, keyring: lazyKeyring, http, logger: console }, origin)
}

function places(): { storage: Storage; workerStorage: Storage; store: Store } {
  const url = process.env['FEDERATION_STORAGE_URL']
  const tables = process.env['DATABASE_URL'] ?? 'sqlite:./holdfast-federation.db'
  if (!url || isRedis(url)) {
    const storage = new RedisStorage({ client: getRedisConnection() })
    return { storage, workerStorage: new RedisStorage({ client: getRedisWorkerConnection() }), store: storeOf(tables) }
  }
  const path = sqlitePath(url)
  if (path !== undefined) {
    const storage = new SqliteStorage({ path })
    // One database: rows and jobs are committed together.
    const store = sqlitePath(tables) === path ? sqliteStore({ storage }) : storeOf(tables)
    return { storage, workerStorage: storage, store }
  }
  if (!isPostgres(url)) throw misfit('FEDERATION_STORAGE_URL', 'sqlite:…, postgres:… or redis:…')
  const storage = new PostgresStorage({ url })
  return { storage, workerStorage: storage, store: tables === url ? postgresStore({ storage }) : storeOf(tables) }
}

function storeOf(url: string): Store {
  const path = sqlitePath(url)
  if (path !== undefined) return sqliteStore({ path })
  if (isPostgres(url)) return postgresStore({ url })
  throw misfit('DATABASE_URL', 'postgres:… or sqlite:…')
}

/** `sqlite:app.db` and `sqlite:///var/app.db`. */
const sqlitePath = (url: string): string | undefined => /^sqlite:(?:\/\/)?(.+)$/.exec(url)?.[1]

const isRedis = (url: string): boolean => /^(redis|valkey)s?:/.test(url)

function redisUrl(): string {
  const url = process.env['FEDERATION_STORAGE_URL']
  return url && isRedis(url) ? url : needed('REDIS_URL')
}

const isPostgres = (url: string): boolean => /^postgres(ql)?:/.test(url)

/** Names, each with its port if that is not the scheme's own. */
function httpOptions(): HttpOptions {
  const names = process.env['DEV_ALLOWED_HOSTNAMES']?.split(',').map((name) => name.trim().toLowerCase())
  const given = names?.filter((name) => name !== '') ?? []
  if (given.length === 0) return {}
  if (process.env['NODE_ENV'] === 'production') throw misfit('DEV_ALLOWED_HOSTNAMES', 'nothing in production')
  const urls = given.map((name) => URL.parse(`http://${name}`))
  if (urls.includes(null)) throw misfit('DEV_ALLOWED_HOSTNAMES', 'names of hosts, separated by commas')
  const ports = urls.flatMap((url) => (url!.port === '' ? [] : [Number(url!.port)]))
  return { allowHttp: true, allowHosts: urls.map((url) => url!.hostname), allowPorts: [80, 443, ...ports] }
}

/** Read when it is needed: who only adds jobs needs none. */
function ownKeyring(): Keyring {
  return (keyring ??= keyringFromBase64({
    publicKey: needed('FEDERATION_PUBLIC_KEY'),
    privateKey: needed('FEDERATION_PRIVATE_KEY'),
    encryptionPublicKey: needed('FEDERATION_ENCRYPTION_PUBLIC_KEY'),
    encryptionPrivateKey: needed('FEDERATION_ENCRYPTION_PRIVATE_KEY'),
  }))
}

const lazyKeyring: Keyring = {
  current: (use) => ownKeyring().current(use),
  byKid: (kid) => ownKeyring().byKid(kid),
  sign: async (kid, bytes) => ownKeyring().sign(kid, bytes),
  agree: async (kid, publicKey) => ownKeyring().agree(kid, publicKey),
}

function needed(name: string): string {
  const value = process.env[name]
  if (value) return value
  throw new FederationError('CONFIG_MISSING', `${name} is not set`)
}

/** The value is not said: it may hold a password. */
function misfit(name: string, expected: string): FederationError {
  return new FederationError('CONFIG_INVALID', `${name}: expected ${expected}`)
}
