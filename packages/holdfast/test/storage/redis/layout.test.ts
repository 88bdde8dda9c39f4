// Keys that a newer version laid out otherwise: they are refused, at the connect and at each reconnect.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RedisStorage } from 'holdfast/redis'
import type { StorageError } from '../../../src/errors.ts'
import { eventually, server, until } from './connection-fixture.ts'

const key = '{p}::layout'
const sentence = /The keys of prefix 'p' have layout 3, and this version knows layouts up to 2\. Use a newer version/

test('a layout that this version does not know is refused', async (t) => {
  const { url, connect } = await server(t)
  const direct = await connect()
  t.after(() => direct.close())
  const storage = new RedisStorage({ url, prefix: 'p' })
  t.after(() => storage.disconnect())
  await direct.send('SET', key, '3')
  await assert.rejects(storage.connect(), (error: StorageError) => {
    assert.match(error.message, new RegExp(`refused\\. ${sentence.source}`))
    assert.deepEqual([error.code, error.transient, error.maybeApplied], ['STORAGE_ERROR', undefined, false])
    return true
  })
  // Another prefix has a layout of its own.
  const other = new RedisStorage({ url, prefix: 'other' })
  await other.connect()
  await other.disconnect()
  await direct.send('SET', key, '1')
  await storage.connect()
  assert.equal((await storage.count({})).types.length, 0)
})

test('a connection that comes back to such a layout is refused, until it is gone', async (t) => {
  const { url, connect } = await server(t)
  const direct = await connect()
  t.after(() => direct.close())
  const storage = new RedisStorage({ url, prefix: 'p' })
  t.after(() => storage.disconnect())
  await storage.connect()
  await direct.send('SET', key, '3')
  await direct.send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  await until(() =>
    storage.count({}).then(
      () => false,
      (error: Error) => sentence.test(error.message),
    ),
  )
  await direct.send('DEL', key)
  await eventually(() => storage.count({}))
})
