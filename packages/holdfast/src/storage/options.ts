// The options of the storages: their defaults and checks.

import { invalidArgument, usageError } from '../errors.ts'
import {
  checkText,
  hasMethods,
  integer,
  isBoolean,
  isCallable,
  isClock,
  oneOf,
  positiveOrInfinity,
  seconds,
  text,
} from '../option-checks.ts'
import type { Check, Table } from '../resolve-options.ts'

export const memoryOptions = {
  callTimeoutMs: { default: 5_000, check: integer(1) },
  clock: { check: isClock },
} as const satisfies Table

export const sqliteOptions = {
  ...memoryOptions,
  path: { check: isPath("the path of a database file, or ':memory:'") },
  durability: { default: 'full', check: oneOf('full', 'relaxed') },
} as const satisfies Table

export const fileOptions = {
  ...memoryOptions,
  directory: { check: isPath('the path of a directory') },
  durability: sqliteOptions.durability,
} as const satisfies Table

export const redisOptions = {
  ...memoryOptions,
  client: { check: isRedisClient },
  url: { check: isRedisUrl },
  host: { default: 'localhost', check: text(255) },
  port: { default: 6379, check: integer(1, 65_535) },
  prefix: { default: 'jq', check: isRedisPrefix },
  pollMs: { default: 5_000, check: positiveOrInfinity },
  blockTimeout: { alias: 'pollMs', check: seconds('pollMs'), convert: (value: number) => value * 1_000 },
  processingQueueTTL: { ignored: true, check: integer(1_000) },
  durability: { default: 'relaxed', check: oneOf('relaxed', 'full', 'replicated') },
  replicas: { default: 1, check: integer(1, 1_000) },
  replicaTimeoutMs: { default: 1_000, check: integer(1) },
  allowEviction: { default: false, check: isBoolean },
} as const satisfies Table

export const postgresOptions = {
  ...memoryOptions,
  url: { check: isPostgresUrl },
  client: { check: isPostgresClient },
  schema: { default: 'holdfast', check: isSchema },
  listenUrl: { check: isPostgresUrl },
  listen: { default: true, check: isBoolean },
  prepare: { default: true, check: isBoolean },
  poolSize: { default: 10, check: integer(1, 1_000) },
  migrate: { default: true, check: isBoolean },
} as const satisfies Table

function isPath(expected: string): Check {
  return (name, value) => {
    if (typeof value !== 'string' || value === '') throw invalidArgument(name, expected, value)
  }
}

/** It becomes the hash tag of every key, which braces of its own would end. */
function isRedisPrefix(name: string, value: unknown): void {
  checkText(name, value, 128)
  if (/[{}]/.test(value)) throw invalidArgument(name, 'text without braces', value)
}

/** A URL may hold a password: of a wrong one, only the scheme is shown. */
function wrongUrl(name: string, expected: string, value: unknown): TypeError {
  if (typeof value !== 'string') return invalidArgument(name, expected, value)
  const scheme = /^[a-z][a-z0-9+.-]*:\/\//i.exec(value)?.[0]
  const got = scheme === undefined ? 'text that does not begin so' : `one that begins with '${scheme.toLowerCase()}'`
  const message = `${name}: expected ${expected}, got ${got}. The rest is not shown: it may hold a password.`
  return usageError('INVALID_ARGUMENT', message)
}

function isRedisUrl(name: string, value: unknown): void {
  const url = typeof value === 'string' ? URL.parse(value) : null
  if (url && ['redis:', 'rediss:', 'valkey:', 'valkeys:'].includes(url.protocol) && url.hostname !== '') return
  throw wrongUrl(name, "a URL such as 'redis://host:6379', with 'rediss:' for TLS", value)
}

function isRedisClient(name: string, value: unknown): void {
  const methods = ['callBuffer', 'pipeline', 'connect', 'disconnect', 'duplicate', 'on', 'removeListener']
  hasMethods('a Redis or Cluster client of iovalkey or ioredis', methods)(name, value)
  const { options } = value as { options?: { keyPrefix?: unknown } | null }
  if (options?.keyPrefix) throw invalidArgument(name, 'a client without keyPrefix (use `prefix`)', options.keyPrefix)
}

function isPostgresUrl(name: string, value: unknown): void {
  const url = typeof value === 'string' ? URL.parse(value) : null
  if (url && ['postgres:', 'postgresql:'].includes(url.protocol)) return
  throw wrongUrl(name, "a URL such as 'postgres://user@host:5432/database'", value)
}

/** The sql of postgres.js is a function. */
function isPostgresClient(name: string, value: unknown): void {
  if (typeof value === 'function' && isCallable(value, 'unsafe') && isCallable(value, 'begin')) return
  hasMethods('a Pool of pg, or the sql of postgres.js', ['connect', 'query', 'on'])(name, value)
}

/** Any name that fits: it is quoted wherever it stands. */
function isSchema(name: string, value: unknown): void {
  const isOne = typeof value === 'string' && value !== '' && !value.includes('\0') && value.isWellFormed()
  if (!isOne || Buffer.byteLength(value) > 63) throw invalidArgument(name, 'the name of a schema, 1 … 63 bytes', value)
}
