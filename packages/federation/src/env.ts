// The names of the seed: wrappers of one federation that is made from environment variables on its first use. No other file
// reads the environment.

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
let producerConnection: RedisConnection | undefined
let workerConnection: RedisConnection | undefined

// ── singletons ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** Returns the Redis connection of the producers. @throws FederationError CONFIG_MISSING without REDIS_URL, HoldfastError MISSING_DEPENDENCY */
export function getRedisConnection(): RedisConnection {
  return (producerConnection ??= openRedis(redisUrl()))
}

/** Returns the Redis connection of the workers. @throws as getRedisConnection */
export function getRedisWorkerConnection(): RedisConnection {
  return (workerConnection ??= openRedis(redisUrl()))
}

/** Returns the federation of this process. @throws FederationError CONFIG_MISSING, CONFIG_INVALID, ORIGIN_INVALID */
export function getFederation(): Federation {
  return (federation ??= fromEnvironment())
}

/** Stops the federation of this process, closes both connections and forgets them. For tests. */
export async function resetFederationForTests(): Promise<void> {
  const [stopped, ...connections] = [federation, producerConnection, workerConnection] as const
  federation = keyring = producerConnection = workerConnection = undefined
  await stopped?.stop({ graceMs: 0 })
  for (const connection of connections) connection?.disconnect()
}

// ── names of the seed: aliases of members of that federation ─────────────────────────────────────────────────────────

/** Alias of `getFederation().deliveryQueue`. @throws FederationError CONFIG_MISSING without REDIS_URL and FEDERATION_STORAGE_URL */
export const getFederationQueue = (): Federation['deliveryQueue'] => getFederation().deliveryQueue

/** Alias of `getFederation().healthCheckQueue`. @throws FederationError CONFIG_MISSING without REDIS_URL and FEDERATION_STORAGE_URL */
export const getHealthCheckQueue = (): Federation['healthCheckQueue'] => getFederation().healthCheckQueue

/** Alias of `getFederation().startWorkers()`, after a check of the keys. @throws FederationError CONFIG_MISSING, KEY_INVALID */
export function startFederationWorker(): ReturnType<Federation['startWorkers']> {
  const started = getFederation()
  ownKeyring()
  return started.startWorkers()
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

/** Alias of `getFederation().scheduleHealthCheck()`. */
export const scheduleHealthCheck = member('scheduleHealthCheck')
/** Alias of `getFederation().processFederationDelivery()`. */
export const processFederationDelivery = member('processFederationDelivery')
/** Alias of `getFederation().processHealthCheck()`. */
export const processHealthCheck = member('processHealthCheck')
/** Alias of `getFederation().handleFollowAck()`. */
export const handleFollowAck = member('handleFollowAck')
/** Alias of `getFederation().discoverAndRegister()`. */
export const discoverAndRegister = member('discoverAndRegister')
/** Alias of `getFederation().federationFetch()`. */
export const federationFetch = member('federationFetch')
/** Alias of `getFederation().markServerHealthy()`. */
export const markServerHealthy = member('markServerHealthy')
/** Alias of `getFederation().markServerUnhealthy()`. */
export const markServerUnhealthy = member('markServerUnhealthy')

/** Returns what a reason allows, by the default policies. */
export const getThreatPolicy = (reason: UnhealthyReason): ThreatPolicy => policyOf(seedPolicies, reason)

// ── environment variables ────────────────────────────────────────────────────────────────────────────────────────────

function fromEnvironment(): Federation {
  const http = httpOptions()
  const own = process.env['BETTER_AUTH_URL']
  const origin = own ? canonicalOrigin(own, { allowHttp: http.allowHttp ?? false }) : undefined
  const { storage, workerStorage, store } = openStorages()
  return assemble(
    { profile: 'seed', storage, workerStorage, store, keyring: lazyKeyring, http, logger: console },
    origin,
  )
}

function openStorages(): { storage: Storage; workerStorage: Storage; store: Store } {
  const url = process.env['FEDERATION_STORAGE_URL']
  const tables = process.env['DATABASE_URL'] ?? 'sqlite:./holdfast-federation.db'
  if (!url || isRedis(url)) {
    const storage = new RedisStorage({ client: getRedisConnection() })
    return { storage, workerStorage: new RedisStorage({ client: getRedisWorkerConnection() }), store: storeOf(tables) }
  }
  const path = sqlitePath(url)
  if (path !== undefined) {
    const storage = new SqliteStorage({ path })
    // With one database, rows and jobs are committed together.
    const store = sqlitePath(tables) === path ? sqliteStore({ storage }) : storeOf(tables)
    return { storage, workerStorage: storage, store }
  }
  if (!isPostgres(url)) throw invalidVariable('FEDERATION_STORAGE_URL', 'sqlite:…, postgres:… or redis:…')
  const storage = new PostgresStorage({ url })
  return { storage, workerStorage: storage, store: tables === url ? postgresStore({ storage }) : storeOf(tables) }
}

function storeOf(url: string): Store {
  const path = sqlitePath(url)
  if (path !== undefined) return sqliteStore({ path })
  if (isPostgres(url)) return postgresStore({ url })
  throw invalidVariable('DATABASE_URL', 'postgres:… or sqlite:…')
}

/** Returns the path in `sqlite:app.db` or `sqlite:///var/app.db`; undefined for other URLs. */
const sqlitePath = (url: string): string | undefined => /^sqlite:(?:\/\/)?(.+)$/.exec(url)?.[1]

const isRedis = (url: string): boolean => /^(redis|valkey)s?:/.test(url)

function redisUrl(): string {
  const url = process.env['FEDERATION_STORAGE_URL']
  return url && isRedis(url) ? url : requiredVariable('REDIS_URL')
}

const isPostgres = (url: string): boolean => /^postgres(ql)?:/.test(url)

/** HTTP options from DEV_ALLOWED_HOSTNAMES: host names, each with its port unless that is 80 or 443. */
function httpOptions(): HttpOptions {
  const names = process.env['DEV_ALLOWED_HOSTNAMES']?.split(',').map((name) => name.trim().toLowerCase())
  const given = names?.filter((name) => name !== '') ?? []
  if (given.length === 0) return {}
  if (process.env['NODE_ENV'] === 'production') {
    throw invalidVariable('DEV_ALLOWED_HOSTNAMES', 'no value when NODE_ENV is production')
  }
  const urls = given.map((name) => URL.parse(`http://${name}`))
  if (urls.includes(null)) throw invalidVariable('DEV_ALLOWED_HOSTNAMES', 'host names, separated by commas')
  const ports = urls.flatMap((url) => (url!.port === '' ? [] : [Number(url!.port)]))
  return { allowHttp: true, allowHosts: urls.map((url) => url!.hostname), allowPorts: [80, 443, ...ports] }
}

/** Reads the keys on first use: a process that only adds jobs needs none. */
function ownKeyring(): Keyring {
  return (keyring ??= keyringFromBase64({
    publicKey: requiredVariable('FEDERATION_PUBLIC_KEY'),
    privateKey: requiredVariable('FEDERATION_PRIVATE_KEY'),
    encryptionPublicKey: requiredVariable('FEDERATION_ENCRYPTION_PUBLIC_KEY'),
    encryptionPrivateKey: requiredVariable('FEDERATION_ENCRYPTION_PRIVATE_KEY'),
  }))
}

const lazyKeyring: Keyring = {
  current: (use) => ownKeyring().current(use),
  byKid: (kid) => ownKeyring().byKid(kid),
  sign: async (kid, bytes) => ownKeyring().sign(kid, bytes),
  agree: async (kid, publicKey) => ownKeyring().agree(kid, publicKey),
}

function requiredVariable(name: string): string {
  const value = process.env[name]
  if (value) return value
  throw new FederationError(
    'CONFIG_MISSING',
    `environment: ${name} is not set. It has no default. Set it before the start.`,
  )
}

/** The message does not quote the value: it may hold a password. */
function invalidVariable(name: string, expected: string): FederationError {
  return new FederationError('CONFIG_INVALID', `environment: ${name}: expected ${expected}. Its value is not shown.`)
}
