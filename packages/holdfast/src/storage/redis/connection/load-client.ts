// Imports the client library that the app has installed: iovalkey or ioredis.

import { HoldfastError } from '../../../errors.ts'
import type { ClientClass } from './make-client.ts'

const libraries = ['iovalkey', 'ioredis']

/** @throws HoldfastError MISSING_DEPENDENCY */
export async function loadClient(): Promise<ClientClass> {
  for (const library of libraries) {
    try {
      // Not a literal: a bundler would fail on the library that is not installed. The comments keep webpack and Vite from
      // resolving the variable, so that Node imports the library at run time.
      const loaded: unknown = await import(/* webpackIgnore: true */ /* @vite-ignore */ library)
      return (loaded as { Redis: ClientClass }).Redis
    } catch (error) {
      if (!isMissing(error)) throw error
    }
  }
  throw new HoldfastError(
    'MISSING_DEPENDENCY',
    'RedisStorage: no Redis client library is installed. Run npm install iovalkey (or ioredis), or pass a client as `client`.',
    { package: 'iovalkey' },
  )
}

/** ERR_MODULE_NOT_FOUND comes from `import`, MODULE_NOT_FOUND from what transpiles it to `require`. */
function isMissing(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'
}
