// The options of createDashboard(), checked once.

import type { Admin, Clock, Logger, Storage } from 'holdfast'
import { systemClock } from 'holdfast/storage'
import type { PeerActions } from './peers.ts'
import type { Permission } from '../shared/permissions.ts'

/** A person, and what they may do. */
export interface Authorization {
  /** Name of the person, 1 … 256 bytes. Pauses, limits and the log show it. */
  readonly actor: string
  /** @default ['view'] */
  readonly can?: readonly Permission[] | undefined
}

/**
 * Says who sends a request, and what they may do. Null refuses it with 403. A Response is sent as it is: a redirect to a login page,
 * or a 401 that asks for a password. One that throws refuses the request, too.
 */
export type Authorize = (
  request: Request,
) => Authorization | Response | null | undefined | Promise<Authorization | Response | null | undefined>

/** Options of createDashboard(). */
export interface DashboardOptions {
  /** Storage of the jobs. Either this or `admin`. */
  readonly storage?: Storage | undefined
  /** A handle of createAdmin(), which stays open when the dashboard is closed. Either this or `storage`. */
  readonly admin?: Admin | undefined
  /** Says who may do what. Without it, every request is refused. @default none */
  readonly authorize?: Authorize | undefined
  /** Path at which it is mounted, such as `/admin/jobs`. @default '' */
  readonly basePath?: string | undefined
  /** Receives one line per write and per refusal: who, what, how many. pino and console fit. @default none */
  readonly logger?: Logger | undefined
  /**
   * Host names, without ports, that requests may be sent to. Set it where no proxy checks them, as on loopback: it stops pages of other
   * sites whose names resolve to this machine. @default any
   */
  readonly hosts?: readonly string[] | undefined
  /** Secret of the tokens for writes. Processes that serve one dashboard together need the same one. @default random */
  readonly secret?: string | undefined
  /** The other servers of a federation: `federation.peers` of @holdfast/federation. @default none: no view of them */
  readonly peers?: PeerActions | undefined
  /** Source of local time; a `fakeClock()` in tests. @default the system's */
  readonly clock?: Clock | undefined
}

export interface ResolvedOptions extends DashboardOptions {
  readonly basePath: string
  readonly clock: Clock
}

const known = ['storage', 'admin', 'authorize', 'basePath', 'logger', 'hosts', 'secret', 'peers', 'clock']

/** @throws TypeError INVALID_ARGUMENT */
export function resolveDashboardOptions(given: DashboardOptions): ResolvedOptions {
  if (given === null || typeof given !== 'object') throw invalidOption('options', 'an object', given)
  for (const key of Object.keys(given)) {
    if (!known.includes(key)) throw invalidOption('options', `one of ${known.join(', ')}`, key)
  }
  const { storage, admin, authorize, basePath = '', hosts, secret, peers, clock = systemClock } = given
  if ((storage === undefined) === (admin === undefined)) {
    throw invalidOption('options', 'either storage or admin', Object.keys(given).join(', '))
  }
  if (authorize !== undefined && typeof authorize !== 'function')
    throw invalidOption('authorize', 'a function', authorize)
  // It becomes part of a page and of links, so only plain characters are allowed.
  if (typeof basePath !== 'string' || !/^(\/[\w.~-]+)*$/.test(basePath)) {
    throw invalidOption('basePath', "'' or a path such as '/admin/jobs', without a slash at its end", basePath)
  }
  if (hosts !== undefined && !(Array.isArray(hosts) && hosts.every((host) => typeof host === 'string'))) {
    throw invalidOption('hosts', 'a list of host names', hosts)
  }
  if (secret !== undefined && (typeof secret !== 'string' || secret.length < 16)) {
    throw invalidOption('secret', 'a text of at least 16 characters', '…')
  }
  if (peers !== undefined && (peers === null || typeof peers !== 'object' || typeof peers.explain !== 'function')) {
    throw invalidOption('peers', 'the peers of a federation', peers)
  }
  return { ...given, basePath, clock }
}

function invalidOption(name: string, expected: string, got: unknown): TypeError {
  const shown = typeof got === 'string' ? `"${got.slice(0, 64)}"` : String(got)
  return Object.assign(new TypeError(`createDashboard ${name}: expected ${expected}, got ${shown}`), {
    code: 'INVALID_ARGUMENT' as const,
  })
}
