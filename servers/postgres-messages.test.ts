// The filter of Postgres messages, on bytes in chunks of every size.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messageFilter, notification } from './postgres-messages.ts'

function message(type: string, body: string): Buffer {
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(4 + body.length, 1)
  return Buffer.concat([head, Buffer.from(body)])
}

test('messages of a type are dropped, and all others are passed on, wherever chunks end', () => {
  const kept = [message('Z', 'I'), message('D', 'AAAA'), message('1', '')]
  const given = Buffer.concat([
    kept[0]!,
    message(notification, 'a hint'),
    kept[1]!,
    message(notification, ''),
    kept[2]!,
  ])
  for (let size = 1; size <= given.length; size++) {
    const filter = messageFilter((type) => type === notification)
    const chunks: Buffer[] = []
    for (let at = 0; at < given.length; at += size) chunks.push(filter(given.subarray(at, at + size)))
    assert.deepEqual(Buffer.concat(chunks), Buffer.concat(kept))
  }
})
