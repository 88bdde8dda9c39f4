// Three servers federate: a follow and a post, a burst, an outage of one server that hurts no other and from which everything arrives. Then an
// impostor with other keys starts at its address. Each step waits for events, never for a duration.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { freePort } from '../../servers/port.ts'
import type { ServerEvent } from './messages.ts'
import { ServerProcess } from './server-process.ts'

export interface DemoOptions {
  /** Directory for the files of the servers. */
  readonly directory: string
  readonly print: (line: string) => void
  /** Called for each event of a server. */
  readonly onProgress: () => void
  /** Fails the demo when it aborts. */
  readonly timeout: AbortSignal
}

/** Rejects if an event is missing or a row is wrong. */
export async function runDemo({ directory, print, onProgress, timeout }: DemoOptions): Promise<void> {
  const ports = [await freePort(), await freePort(), await freePort()]
  const names = ['alpha', 'beta', 'gamma']
  const nameOf = (origin: unknown): string =>
    names[ports.indexOf(Number(new URL(String(origin)).port))] ?? String(origin)
  /** The lines of a step, each once: a burst prints one line, not hundreds. */
  const printed = new Set<string>()
  const onEvent = (name: string, event: ServerEvent): void => {
    onProgress()
    const text = lineOf(event, nameOf)
    const line = `${name.padEnd(6)} ${text}`
    if (text === undefined || printed.has(line)) return
    printed.add(line)
    print(line)
  }
  const servers = names.map((name, index) => {
    const config = { name, port: ports[index]!, ports, directory: join(directory, name) }
    return new ServerProcess(config, onEvent, timeout)
  })
  try {
    const step = (number: number, text: string): void => {
      printed.clear()
      print(`\n${number}. ${text}`)
    }
    await steps(servers[0]!, servers[1]!, servers[2]!, step, print)
  } finally {
    await Promise.all(servers.map((server) => server.kill()))
  }
}

async function steps(
  alpha: ServerProcess,
  beta: ServerProcess,
  gamma: ServerProcess,
  step: (number: number, text: string) => void,
  print: (line: string) => void,
): Promise<void> {
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
  await alpha.next('delivered', { origin: beta.origin, name: 'deliver-post' })
  assert.deepEqual(await beta.request('effects'), ['ann follows bob', `post ${post}`])

  step(3, `${burst} users of alpha follow bea on beta at once.`)
  await deliveredAll(alpha, await alpha.request('burst', 'bea', burst, beta.origin))
  assert.equal((await beta.request('effects')).length, 2 + burst)
  print(`beta   applied ${burst} follows, each once, and refused none`)

  step(4, `beta is killed. ${burst} users follow ben there, and ${burst} follow gus on gamma meanwhile.`)
  await beta.kill()
  const waiting = await alpha.request('burst', 'ben', burst, beta.origin)
  await alpha.next('contact_failed', { origin: beta.origin })
  await alpha.next('peer_unhealthy', { origin: beta.origin })
  const unhealthy = await alpha.request('peerRow', beta.origin)
  assert.deepEqual([unhealthy?.isHealthy, unhealthy?.unhealthyReason], [false, 'CONN_REFUSED'])
  await deliveredAll(alpha, await alpha.request('burst', 'gus', burst, gamma.origin))
  assert.equal((await gamma.request('effects')).length, burst)
  print(`gamma  applied ${burst} follows while beta was dead`)
  assert.equal((await alpha.request('followRow', 'fan 1', 'ben', beta.origin))?.acknowledged, false)

  step(5, 'beta starts again on its files. Everything that waited arrives.')
  await beta.start()
  await deliveredAll(alpha, waiting)
  await alpha.next('peer_healthy', { origin: beta.origin })
  await showFollow(alpha, beta, 'fan 1', 'ben', print)
  assert.equal((await beta.request('effects')).length, 2 + 2 * burst)
  print(`beta   applied ${burst} follows that had waited, each once`)

  step(6, 'A server with other keys starts at the address of beta, and registers with alpha.')
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

/** Follows of one burst. */
const burst = 200

/** Resolves when all of these deliveries were acknowledged. */
async function deliveredAll(from: ServerProcess, ids: readonly string[]): Promise<void> {
  await Promise.all(ids.map((id) => from.next('delivered', { id })))
  assert.ok(ids.length > 0)
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
    contact_failed: () => `does not reach ${nameOf(fields.origin)}: ${String(fields.code)}`,
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
