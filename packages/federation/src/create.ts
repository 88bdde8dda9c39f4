// The factory. It resolves all options, once. It reads no environment variable: env.ts does.

import type { Clock, Logger, Storage } from 'holdfast'
import { systemClock } from 'holdfast/storage'
import { resolveAliases } from './aliases.ts'
import type { AckHandlers } from './deliver/dispatch-ack.ts'
import { Federation } from './federation.ts'
import { createHttpClient, type HttpOptions } from './http/client.ts'
import type { InboundHandlers } from './inbound/handlers.ts'
import { invalidArgument } from './invalid-argument.ts'
import type { Keyring } from './keyring.ts'
import { canonicalOrigin } from './origin.ts'
import type { Profile } from './policies.ts'
import { type PolicyOptions, resolvePolicies } from './resolve-policies.ts'
import type { FollowStore, Store } from './store/store.ts'
import { withFollows } from './store/with-follows.ts'
import { isObject } from './wire/v1/schema.ts'

export interface FederationOptions {
  /**
   * Behaviour. `hardened`: the back-off belongs to the peer, a delivery waits for a week and spends no attempt, and every acknowledgement is
   * verified. `seed`: five attempts per delivery, as in the seed document. Both speak the v1 wire. @default 'hardened'
   */
  readonly profile?: Profile
  /** Origin of this server, such as `https://a.example`. */
  readonly origin: string
  /** Storage of the jobs. */
  readonly storage: Storage
  /** Tables of peers, pinned keys, follows and deliveries: sqliteStore(…) or postgresStore(…). */
  readonly store: Store
  /** Keys of this server: keyringFromBase64(…), or a Keyring of your own. */
  readonly keyring: Keyring
  /** Rules of the HTTP client. @default https on port 443, public addresses only */
  readonly http?: HttpOptions
  /** Changes to the defaults of policies.ts. @default {} */
  readonly policies?: PolicyOptions
  /** Inbound handlers, by method. A method without a handler is refused with 501. @default {} */
  readonly handlers?: InboundHandlers
  /** Acknowledgement handlers, by job name. `deliver-follow` has a built-in one. @default {} */
  readonly acks?: AckHandlers
  /** Storage of follows. @default the follows table of the store */
  readonly follows?: FollowStore
  /** Receives start, stop, failures and lost connections at their levels. @default none */
  readonly logger?: Logger
  /** Alias of `logger`. */
  readonly log?: Logger
  /** Source of local time: a `fakeClock()` in tests. @default the system's */
  readonly clock?: Clock
}

/** Every option, in the order of the guide. */
export const optionNames = [
  'profile',
  'origin',
  'storage',
  'store',
  'keyring',
  'http',
  'policies',
  'handlers',
  'acks',
  'follows',
  'logger',
  'clock',
] as const satisfies readonly (keyof FederationOptions)[]

/**
 * Creates a federation. Opens no connection: the first call that needs one does.
 * @throws TypeError INVALID_ARGUMENT, FederationError ORIGIN_INVALID
 */
export function createFederation(options: FederationOptions): Federation {
  const { profile = 'hardened', origin, ...given } = resolveOptions(options)
  if (profile !== 'seed' && profile !== 'hardened') throw invalidArgument('profile', "'seed' or 'hardened'", profile)
  // Not quoted: a wrong keyring may be the keys.
  for (const [name, { expected, members }] of Object.entries(parts)) {
    const part: unknown = given[name as keyof typeof parts]
    if (!members.every((member) => isObject(part) && member in part)) throw invalidArgument(name, expected)
  }
  return assemble({ ...given, profile }, canonicalOrigin(origin, { allowHttp: given.http?.allowHttp ?? false }))
}

/** The parts that an app makes, and what they are told by. */
const parts = {
  storage: { expected: 'a storage for the jobs, such as new SqliteStorage(…)', members: ['claim', 'settle'] },
  store: { expected: 'the tables: sqliteStore(…) or postgresStore(…)', members: ['transaction', 'deliveries'] },
  keyring: {
    expected: 'a keyring: keyringFromBase64(…) or await generateKeyring()',
    members: ['current', 'byKid', 'sign', 'agree'],
  },
} as const

type ResolvedOptions = Omit<FederationOptions, 'log'>

function resolveOptions(options: FederationOptions): ResolvedOptions {
  const given = resolveAliases('createFederation', { ...options })
  for (const key of Object.keys(given)) {
    if (optionNames.includes(key as (typeof optionNames)[number])) continue
    throw invalidArgument('createFederation options', `one of ${optionNames.join(', ')}`, key)
  }
  return given as unknown as ResolvedOptions
}

export interface AssembleOptions extends Omit<ResolvedOptions, 'origin' | 'profile'> {
  readonly profile: Profile
  /** Storage of the workers. @default storage */
  readonly workerStorage?: Storage
}

/** @param origin canonical; undefined only if the environment does not set it */
export function assemble(options: AssembleOptions, origin: string | undefined): Federation {
  const {
    profile,
    storage,
    workerStorage = storage,
    keyring,
    http = {},
    acks = {},
    handlers = {},
    follows,
    logger,
    clock = systemClock,
  } = options
  const policies = resolvePolicies(options.policies, profile)
  const bounds = {
    maxResponseBytes: policies.http.maxResponseBytes,
    connectTimeoutMs: policies.delivery.connectTimeoutMs,
  }
  return new Federation({
    profile,
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
    logger,
  })
}
