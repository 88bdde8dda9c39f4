// The factory: options are resolved here, once. No environment variable is read.

import { type Clock, HoldfastError, type Logger, type Storage, systemClock } from 'holdfast'
import type { AckHandlers } from './deliver/dispatch-ack.ts'
import { Federation } from './federation.ts'
import { createHttpClient, type HttpOptions } from './http/client.ts'
import type { InboundHandlers } from './inbound/handlers.ts'
import type { Keyring } from './keyring.ts'
import { canonicalOrigin } from './origin.ts'
import { type PolicyOptions, resolvePolicies } from './resolve-policies.ts'
import type { FollowStore, Store } from './store/store.ts'
import { withFollows } from './store/with-follows.ts'

export interface FederationOptions {
  /** `seed`: one job per delivery, the v1 wire. `hardened` is to come. */
  readonly profile: 'seed' | 'hardened'
  /** Of this server, such as `https://a.example`. */
  readonly origin: string
  /** Where the jobs live. */
  readonly storage: Storage
  /** The tables: sqliteStore(…) or postgresStore(…). */
  readonly store: Store
  readonly keyring: Keyring
  readonly http?: HttpOptions
  readonly policies?: PolicyOptions
  /** What is done with what comes in, by method. A method without one is refused. */
  readonly handlers?: InboundHandlers
  /** What is done with the acknowledgement of a job of this name. `deliver-follow` is built in. */
  readonly acks?: AckHandlers
  /** @default the follows table of the store */
  readonly follows?: FollowStore
  readonly log?: Logger
  /** Where local time comes from: a `fakeClock()` in tests. @default the system's */
  readonly clock?: Clock
}

const known = 'profile origin storage store keyring http policies handlers acks follows log clock'.split(' ')

/** Opens nothing yet. @throws TypeError INVALID_ARGUMENT, FederationError ORIGIN_INVALID, HoldfastError FEATURE_UNSUPPORTED */
export function createFederation(options: FederationOptions): Federation {
  for (const key of Object.keys(options)) {
    if (!known.includes(key)) throw invalid('createFederation options', `one of ${known.join(', ')}`, key)
  }
  const { profile, origin, storage, store, keyring } = options
  if (profile !== 'seed' && profile !== 'hardened') throw invalid('profile', "'seed' or 'hardened'", profile)
  if (profile === 'hardened') {
    throw new HoldfastError('FEATURE_UNSUPPORTED', "the profile 'hardened' is not there yet: use 'seed'")
  }
  for (const [name, value] of Object.entries({ storage, store, keyring })) {
    if (value === null || typeof value !== 'object') throw invalid(name, 'an object', value)
  }
  const allowHttp = options.http?.allowHttp ?? false
  return assemble(options, canonicalOrigin(origin, { allowHttp }))
}

export interface AssembleOptions extends Omit<FederationOptions, 'profile' | 'origin'> {
  /** @default storage */
  readonly workerStorage?: Storage
}

/** @param origin canonical; undefined only by way of the environment */
export function assemble(options: AssembleOptions, origin: string | undefined): Federation {
  const {
    storage,
    workerStorage = storage,
    keyring,
    http = {},
    acks = {},
    handlers = {},
    follows,
    log,
    clock = systemClock,
  } = options
  const policies = resolvePolicies(options.policies)
  const bounds = {
    maxResponseBytes: policies.http.maxResponseBytes,
    connectTimeoutMs: policies.delivery.connectTimeoutMs,
  }
  return new Federation({
    origin,
    allowHttp: http.allowHttp ?? false,
    storage,
    workerStorage,
    store: follows ? withFollows(options.store, follows) : options.store,
    keyring,
    http: createHttpClient({ ...bounds, ...http }, clock),
    policies,
    handlers,
    acks,
    clock,
    log,
  })
}

function invalid(name: string, expected: string, got: unknown): TypeError {
  const shown = typeof got === 'string' ? JSON.stringify(got) : typeof got
  return Object.assign(new TypeError(`${name}: expected ${expected}, got ${shown}`), { code: 'INVALID_ARGUMENT' })
}
