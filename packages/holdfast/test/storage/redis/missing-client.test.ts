// Without a client library, the error has the command that installs one. In a file of its own: the hooks are for the process.

import assert from 'node:assert/strict'
import { registerHooks } from 'node:module'
import { test } from 'node:test'
import { loadClient } from '../../../src/storage/redis/connection/load-client.ts'

test('[Q5.16] without a client library the error has the command; ioredis alone is enough', async () => {
  const absent = new Set(['iovalkey', 'ioredis'])
  registerHooks({
    resolve(specifier, context, next) {
      if (!absent.has(specifier)) return next(specifier, context)
      throw Object.assign(new Error(`Cannot find package '${specifier}'`), { code: 'ERR_MODULE_NOT_FOUND' })
    },
  })
  await assert.rejects(loadClient(), { code: 'MISSING_DEPENDENCY', message: /npm install iovalkey/ })
  absent.delete('ioredis')
  assert.equal(await loadClient(), (await import('ioredis')).Redis)
  absent.delete('iovalkey')
  assert.equal(await loadClient(), (await import('iovalkey')).Redis)
})
