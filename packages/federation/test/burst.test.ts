// A burst between two servers with default settings: everything arrives.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sized } from '../../holdfast/test/full-size.ts'
import type { Federation } from '../src/federation.ts'
import { servers } from './servers.ts'

// More than the 120 requests a minute of an unknown address.
const count = sized(500, 130)

test(`${count} follows between two servers with default settings: all are delivered, none is refused`, async (t) => {
  const [alpha, beta] = (await servers(t, 2)) as [Federation, Federation]
  const delivered = new Set<string>()
  const failures: object[] = []
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  alpha.on('delivered', ({ id }) => {
    if (delivered.add(id).size === count) end()
  })
  const failed = (event: object): void => {
    failures.push(event)
    end()
  }
  alpha.on('delivery_failing', failed)
  alpha.on('delivery_failed', failed)
  beta.on('refused', failed)
  await alpha.start()
  const request = { followingId: 'bob', serverUrl: beta.origin! }
  await Promise.all(Array.from({ length: count }, (_, n) => alpha.follow({ followerId: `follower-${n}`, ...request })))
  await ended
  assert.deepEqual([failures, delivered.size], [[], count])
})
