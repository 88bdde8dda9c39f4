// Three servers federate. One of them dies and comes back. Then an impostor with other keys starts at its address. Each step waits
// for events, never for a duration.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { freePort } from '../../servers/port.ts'
import type { ServerEvent } from './messages.ts'
import { ServerProcess } from './server-process.ts'

export interface DemoOptions {
  /** Directory for the files of the servers. */
  readonly directory: string
  readonly print: (line: string) => void
  /** Fails the demo when it aborts. */
  readonly timeout: AbortSignal
}

/** Rejects if an event is missing or a row is wrong. */
export async function runDemo({ directory, print, timeout }: DemoOptions): Promise<void> {
  const ports = [await freePort(), await freePort(), await freePort()]
  const names = ['alpha', 'beta', 'gamma']
  const nameOf = (origin: unknown): string =>
    names[ports.indexOf(Number(new URL(String(origin)).port))] ?? String(origin)
  const policies = { backoffMs: 500, healthCheckMs: 1_000 }
  const onEvent = (name: string, event: ServerEvent): void => {
    const line = lineOf(event, nameOf)
    if (line) print(`${name.padEnd(6)} ${line}`)
  }
  const servers = names.map((name, index) => {
    const config = { name, port: ports[index]!, ports, directory: join(directory, name), policies }
    return new ServerProcess(config, onEvent, timeout)
  })
  try {
    await steps(servers[0]!, servers[1]!, servers[2]!, print)
  } finally {
    await Promise.all(servers.map((server) => server.kill()))
  }
}

async function steps(
  alpha: ServerProcess,
  beta: ServerProcess,
  gamma: ServerProcess,
  print: (line: string) => void,
): Promise<void> {
  const step = (number: number, text: string): void => print(`\n${number}. ${text}`)

  step(1, 'Three servers start.')
  await Promise.all([alpha.start(), beta.start(), gamma.start()])

  step(2, 'ann on alpha follows bob on beta, and writes a post.')
  await followAndCheck(alpha, beta, 'ann', 'bob', print)
  const pinned = await alpha.request('peerRow', beta.origin)
  assert.ok(pinned, 'alpha has pinned the keys of beta')
  assert.ok(await beta.request('peerRow', alpha.origin), 'alpha has registered with beta')
  print(`alpha  has pinned the keys of beta: ${pinned.publicKey}`)
  const post = await alpha.request('post', 'ann', 'Hello, bob!', beta.origin)
  await beta.next('received', { method: 'FEDERATE_POST' })
  await alpha.next('post_acknowledged', { id: post })
  await alpha.next('delivered', { id: post })
  assert.deepEqual(await beta.request('effects'), ['ann follows bob', `post ${post}`])

  step(3, 'beta is killed. ann follows ben there, and gus on gamma meanwhile.')
  await beta.kill()
  const waiting = await alpha.request('follow', 'ann', 'ben', beta.origin)
  await alpha.next('delivery_failing', { id: waiting, attempt: 1 })
  await alpha.next('peer_unhealthy', { origin: beta.origin })
  const unhealthy = await alpha.request('peerRow', beta.origin)
  assert.deepEqual([unhealthy?.isHealthy, unhealthy?.unhealthyReason], [false, 'CONN_REFUSED'])
  await followAndCheck(alpha, gamma, 'ann', 'gus', print)
  await alpha.next('delivery_failing', { id: waiting, attempt: 2 })
  assert.equal((await alpha.request('followRow', 'ann', 'ben', beta.origin))?.acknowledged, false)

  step(4, 'beta starts again on its files. It answers health checks first, and opens its inbox after one of alpha.')
  await beta.start({ inboxLater: true })
  await alpha.next('peer_healthy', { origin: beta.origin })
  await beta.request('openInbox')
  await alpha.next('delivered', { id: waiting })
  await showFollow(alpha, beta, 'ann', 'ben', print)
  const again = await beta.request('effects')
  assert.deepEqual(again, ['ann follows ben', 'ann follows bob', `post ${post}`])
  print(`beta   applied each message once: ${again.join(', ')}`)

  step(5, 'A server with other keys starts at the address of beta, and registers with alpha.')
  await beta.kill()
  await beta.start({ otherKeys: true })
  await beta.request('register', alpha.origin)
  await alpha.next('pin_mismatch', { origin: beta.origin })
  const after = await alpha.request('peerRow', beta.origin)
  assert.deepEqual(
    [after?.publicKey, after?.encryptionPublicKey],
    [pinned.publicKey, pinned.encryptionPublicKey],
    'the pin is unchanged',
  )
  print(`alpha  keeps the pinned keys of beta: ${after?.publicKey}`)
  await Promise.all([alpha.stop(), beta.stop(), gamma.stop()])
}

async function followAndCheck(
  from: ServerProcess,
  to: ServerProcess,
  followerId: string,
  followingId: string,
  print: (line: string) => void,
): Promise<void> {
  const id = await from.request('follow', followerId, followingId, to.origin)
  await to.next('received', { method: 'FEDERATE' })
  await from.next('delivered', { id })
  await showFollow(from, to, followerId, followingId, print)
}

/** Checks and prints the row of the follow, on the follower's server. */
async function showFollow(
  from: ServerProcess,
  to: ServerProcess,
  followerId: string,
  followingId: string,
  print: (line: string) => void,
): Promise<void> {
  const row = await from.request('followRow', followerId, followingId, to.origin)
  assert.deepEqual([row?.accepted, row?.acknowledged], [true, true])
  print(
    `${from.name.padEnd(6)} has the row: ${followerId} follows ${followingId} on ${to.name}, accepted and acknowledged`,
  )
}

/** Returns the line of an event; undefined for events that are not printed. */
function lineOf({ event, ...fields }: ServerEvent, nameOf: (origin: unknown) => string): string | undefined {
  const lines: Readonly<Record<string, () => string>> = {
    listening: () => `listens on ${String(fields.origin)}`,
    delivered: () => `received the acknowledgement of ${nameOf(fields.origin)}: ${String(fields.name)}`,
    delivery_failing: () =>
      `failed to deliver to ${nameOf(fields.origin)}, attempt ${String(fields.attempt)}: ${String(fields.code)}`,
    delivery_failed: () => `gave up a delivery to ${nameOf(fields.origin)}: ${String(fields.code)}`,
    peer_healthy: () => `marks ${nameOf(fields.origin)} healthy`,
    peer_unhealthy: () => `marks ${nameOf(fields.origin)} unhealthy: ${String(fields.reason)}`,
    pin_mismatch: () => `pin_mismatch: ${nameOf(fields.origin)} shows other keys, refused`,
    received: () => `applied a ${String(fields.method)} from ${nameOf(fields.from)}`,
    refused: () => `refuses a request: ${String(fields.status)} ${String(fields.code)}`,
    post_acknowledged: () => `verified that ${nameOf(fields.origin)} has its post`,
  }
  return lines[event]?.()
}
