// Three servers federate, one of them dies and comes back, and then somebody pretends to be it. Each step waits for events, never
// for time.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { freePort } from '../../servers/port.ts'
import type { Told } from './messages.ts'
import { Party } from './party.ts'

export interface DemoOptions {
  /** For the files of the servers. */
  readonly directory: string
  readonly tell: (line: string) => void
  /** Ends the demo, as failed. */
  readonly patience: AbortSignal
}

/** Rejects if anything was not as it should be. */
export async function runDemo({ directory, tell, patience }: DemoOptions): Promise<void> {
  const ports = [await freePort(), await freePort(), await freePort()]
  const names = ['alpha', 'beta', 'gamma']
  const nameOf = (origin: unknown): string =>
    names[ports.indexOf(Number(new URL(String(origin)).port))] ?? String(origin)
  const policies = { backoffMs: 500, healthCheckMs: 1_000 }
  const watch = (who: string, told: Told): void => {
    const line = lineOf(told, nameOf)
    if (line) tell(`${who.padEnd(6)} ${line}`)
  }
  const parties = names.map((name, index) => {
    const config = { name, port: ports[index]!, ports, directory: join(directory, name), policies }
    return new Party(config, watch, patience)
  })
  try {
    await steps(parties[0]!, parties[1]!, parties[2]!, tell)
  } finally {
    await Promise.all(parties.map((party) => party.kill()))
  }
}

async function steps(alpha: Party, beta: Party, gamma: Party, tell: (line: string) => void): Promise<void> {
  const step = (number: number, text: string): void => tell(`\n${number}. ${text}`)

  step(1, 'Three servers start.')
  await Promise.all([alpha.start(), beta.start(), gamma.start()])

  step(2, 'ann on alpha follows bob on beta, and writes a post.')
  await followed(alpha, beta, 'ann', 'bob', tell)
  const pinned = await alpha.ask('peerRow', beta.origin)
  assert.ok(pinned, 'alpha has pinned the keys of beta')
  assert.ok(await beta.ask('peerRow', alpha.origin), 'alpha has registered with beta')
  tell(`alpha  has pinned the keys of beta: ${pinned.publicKey}`)
  const post = await alpha.ask('post', 'ann', 'Hello, bob!', beta.origin)
  await beta.heard('received', { method: 'FEDERATE_POST' })
  await alpha.heard('post_acknowledged', { id: post })
  await alpha.heard('delivered', { id: post })
  assert.deepEqual(await beta.ask('effects'), ['ann follows bob', `post ${post}`])

  step(3, 'beta is killed. ann follows ben there, and gus on gamma meanwhile.')
  await beta.kill()
  const waiting = await alpha.ask('follow', 'ann', 'ben', beta.origin)
  await alpha.heard('delivery_failing', { id: waiting, attempt: 1 })
  await alpha.heard('peer_unhealthy', { origin: beta.origin })
  const unhealthy = await alpha.ask('peerRow', beta.origin)
  assert.deepEqual([unhealthy?.isHealthy, unhealthy?.unhealthyReason], [false, 'CONN_REFUSED'])
  await followed(alpha, gamma, 'ann', 'gus', tell)
  await alpha.heard('delivery_failing', { id: waiting, attempt: 2 })
  assert.equal((await alpha.ask('followRow', 'ann', 'ben', beta.origin))?.acknowledged, false)

  step(4, 'beta starts again on its files. It says who it is, and opens its inbox once alpha has looked.')
  await beta.start({ inboxLater: true })
  await alpha.heard('peer_healthy', { origin: beta.origin })
  await beta.ask('openInbox')
  await alpha.heard('delivered', { id: waiting })
  await showFollow(alpha, beta, 'ann', 'ben', tell)
  const again = await beta.ask('effects')
  assert.deepEqual(again, ['ann follows ben', 'ann follows bob', `post ${post}`])
  tell(`beta   has applied each once: ${again.join(', ')}`)

  step(5, 'Somebody with other keys starts at the address of beta, and registers with alpha.')
  await beta.kill()
  await beta.start({ otherKeys: true })
  await beta.ask('register', alpha.origin)
  await alpha.heard('pin_mismatch', { origin: beta.origin })
  const after = await alpha.ask('peerRow', beta.origin)
  assert.deepEqual(
    [after?.publicKey, after?.encryptionPublicKey],
    [pinned.publicKey, pinned.encryptionPublicKey],
    'the pin is as it was',
  )
  tell(`alpha  still has the keys of beta that it had: ${after?.publicKey}`)
  await Promise.all([alpha.stop(), beta.stop(), gamma.stop()])
}

async function followed(
  from: Party,
  to: Party,
  who: string,
  whom: string,
  tell: (line: string) => void,
): Promise<void> {
  const id = await from.ask('follow', who, whom, to.origin)
  await to.heard('received', { method: 'FEDERATE' })
  await from.heard('delivered', { id })
  await showFollow(from, to, who, whom, tell)
}

/** The follower's own row. */
async function showFollow(
  from: Party,
  to: Party,
  who: string,
  whom: string,
  tell: (line: string) => void,
): Promise<void> {
  const row = await from.ask('followRow', who, whom, to.origin)
  assert.deepEqual([row?.accepted, row?.acknowledged], [true, true])
  tell(`${from.name.padEnd(6)} has the row: ${who} follows ${whom} on ${to.name}, accepted and acknowledged`)
}

/** In plain words; undefined for what is not worth a line. */
function lineOf({ event, ...about }: Told, nameOf: (origin: unknown) => string): string | undefined {
  const lines: Readonly<Record<string, () => string>> = {
    listening: () => `listens on ${String(about.origin)}`,
    delivered: () => `has its acknowledgement from ${nameOf(about.origin)}: ${String(about.name)}`,
    delivery_failing: () =>
      `could not deliver to ${nameOf(about.origin)}, attempt ${String(about.attempt)}: ${String(about.code)}`,
    delivery_failed: () => `gave up a delivery to ${nameOf(about.origin)}: ${String(about.code)}`,
    peer_healthy: () => `finds ${nameOf(about.origin)} healthy`,
    peer_unhealthy: () => `finds ${nameOf(about.origin)} unhealthy: ${String(about.reason)}`,
    pin_mismatch: () => `pin_mismatch: ${nameOf(about.origin)} shows other keys, refused`,
    received: () => `has applied a ${String(about.method)} from ${nameOf(about.from)}`,
    refused: () => `refuses a request: ${String(about.status)} ${String(about.code)}`,
    post_acknowledged: () => `knows that ${nameOf(about.origin)} has its post`,
  }
  return lines[event]?.()
}
