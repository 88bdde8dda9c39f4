// Two servers on loopback, alpha and beta, for tests of the inbox.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { InboundHandlers, InboundMessage } from '../../src/inbound/handlers.ts'
import type { FollowRow } from '../../src/store/store.ts'
import { introduce, type Reply, type ServerOptions, startServer, type TestServer } from './server.ts'

export interface Pair {
  readonly alpha: TestServer
  readonly beta: TestServer
  /** Messages that the handlers of beta received. */
  readonly seen: InboundMessage<any>[]
}

/** Alpha sends to beta; both know each other. */
export async function pair(t: TestContext, handlers: InboundHandlers = {}, options: ServerOptions = {}): Promise<Pair> {
  const seen: InboundMessage<any>[] = []
  const keep = (message: InboundMessage<any>): void => void seen.push(message)
  const all = { FEDERATE: keep, FEDERATE_POST: keep, UNFOLLOW: keep, INSERT: keep, OWN_METHOD: keep, ...handlers }
  const [alpha, beta] = await Promise.all([startServer(t), startServer(t, { handlers: all, ...options })])
  await introduce(alpha, beta)
  return { alpha, beta, seen }
}

export function assertRefused(reply: Reply, status: number, code: string): void {
  assert.deepEqual([reply.status, reply.body.code], [status, code])
  assert.deepEqual(Object.keys(reply.body), ['error', 'code'])
}

/** Returns the row of alice's follow of bob, on beta. */
export const followOf = (beta: TestServer, alpha: TestServer): Promise<FollowRow | undefined> =>
  beta.store.follows.find('alice', 'bob', alpha.origin)
