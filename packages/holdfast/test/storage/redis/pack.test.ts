// What the scripts are sent: lists inside of lists, as bytes.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Nested, Packer } from '../../../src/storage/redis/codec/pack.ts'
import { unpack } from '../../../src/storage/redis/codec/unpack.ts'

test('a nested list is a string of bytes, of any length', () => {
  const packer = new Packer()
  for (const length of [0, 1, 31, 32, 300, 16_380, 65_528, 65_529, 65_530, 65_531, 65_532, 70_000, 200_000]) {
    const inner = ['x'.repeat(length), 7, false]
    const [before, bytes, after] = unpack(packer.pack(['before', new Nested(inner), 'after'])) as Buffer[]
    assert.deepEqual([String(before), String(after)], ['before', 'after'])
    assert.deepEqual(bytes, new Packer().pack(inner), String(length))
    assert.equal(String((unpack(bytes!) as unknown[])[0]), inner[0])
  }
})
