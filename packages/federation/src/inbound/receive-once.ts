// One effect per message: the key of a message is a row of the inbox, written in the transaction of its effect, with the reply. A message
// that comes again is answered with the same bytes. One that comes again while it is decided about waits for that decision.

import { isDeepStrictEqual } from 'node:util'
import type { InboxRow, StoreTransaction } from '../store/store.ts'
import { encodeBase64 } from '../wire/v1/base64.ts'
import { sealAck } from './ack.ts'
import type { Coming } from './commit-groups.ts'
import { apply, decide, expected, type Outcome } from './effect.ts'
import type { Inbound } from './inbound.ts'
import type { Delivery } from './pipeline.ts'
import { refuse } from './refusal.ts'

/** Longer than the age of a message that is accepted, so that a message sent again meets its row, or is too old. */
const keepMs = 31 * 24 * 3_600_000

/** Messages that may be decided about at a time: in all, and of one peer, so that one does not take the places of the others. */
const maxRunning = 1_000
const maxRunningOfPeer = 100

/** What a sender waits for that gets no answer in time. */
const retryAfter = { 'Retry-After': '5' }

export interface Received {
  /** JSON text of the acknowledgement. */
  readonly ack: string
  /** False if the message had come before. */
  readonly isNew: boolean
}

/** @throws Refusal of the app; DECISION_PENDING, which is to be sent again */
export async function receiveOnce(inbound: Inbound, delivery: Delivery, coming: Coming): Promise<Received> {
  const { running, runningOf } = inbound
  const stored = await storedAck(inbound, delivery)
  if (stored !== undefined) return { ack: stored, isNew: false }
  // A pair of texts as one key: an origin has no space.
  const key = `${delivery.from} ${delivery.messageKey}`
  const shared = running.get(key)
  if (shared) {
    coming.leave()
    return { ...(await inTime(inbound, delivery, shared)), isNew: false }
  }
  const ofPeer = runningOf.get(delivery.from) ?? 0
  if (running.size >= maxRunning || ofPeer >= maxRunningOfPeer) {
    throw refuse('DECISION_PENDING', 'too many messages wait for the application', {
      from: delivery.from,
      headers: retryAfter,
    })
  }
  runningOf.set(delivery.from, ofPeer + 1)
  const own = receive(inbound, delivery, coming).finally(() => {
    running.delete(key)
    const left = runningOf.get(delivery.from)! - 1
    if (left > 0) runningOf.set(delivery.from, left)
    else runningOf.delete(delivery.from)
  })
  running.set(key, own)
  return inTime(inbound, delivery, own)
}

/** The decision goes on after its time: the sender repeats the message, and gets the stored answer. */
async function inTime({ context }: Inbound, { from }: Delivery, received: Promise<Received>): Promise<Received> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = context.clock.after(context.policies.inbound.decisionTimeoutMs, () =>
    reject(refuse('DECISION_PENDING', 'the application has not decided yet', { from, headers: retryAfter })),
  )
  // Without a waiter its error has been told: the next repeat asks the app anew.
  received.catch(() => {})
  try {
    return await Promise.race([received, late])
  } finally {
    timer.cancel()
  }
}

async function receive(inbound: Inbound, delivery: Delivery, coming: Coming): Promise<Received> {
  const { store, clock } = inbound.context
  const { from: origin, messageKey: id, message } = delivery
  // The app may take long to decide.
  coming.leave()
  const decision = await decide(inbound, delivery)
  coming.comeBack()
  const outcome = expected(inbound, delivery, decision)
  // Before the transaction, so that this is short: the keys may be in a hardware module. After an `apply` of the app the outcome is known.
  const sealed = decision.apply ? undefined : await seal(inbound, delivery, outcome)
  const receivedAt = clock.now()
  // Posts have no age limit, so nothing but its row tells a post that is sent again.
  const expiresAt = message.method === 'FEDERATE_POST' ? undefined : receivedAt + keepMs
  const write = async (tx: StoreTransaction): Promise<string | undefined> => {
    if (!(await store.inbox.insert({ origin, id, receivedAt, expiresAt, decided: sealed }, tx))) return undefined
    const made = await apply(inbound, delivery, decision, outcome, tx)
    if (sealed && isDeepStrictEqual(made, outcome)) return sealed.ack
    const row = await seal(inbound, delivery, made)
    await store.inbox.decide(origin, id, row, tx)
    return row.ack
  }
  // The app's `apply` may take long. Others must not wait for it with their commit.
  if (decision.apply) coming.leave()
  else await coming.ready()
  const ack = await (decision.apply ? store.transaction(write) : store.shared(write))
  if (ack !== undefined) return { ack, isNew: true }
  // Another process was faster. Its transaction has committed.
  const stored = await storedAck(inbound, delivery)
  if (stored !== undefined) return { ack: stored, isNew: false }
  throw refuse('DECISION_PENDING', 'another process decides about this message', { from: origin, headers: retryAfter })
}

/** Returns the reply to a message that has had its effect; undefined if it has not. */
async function storedAck(inbound: Inbound, delivery: Delivery): Promise<string | undefined> {
  const row = await inbound.context.store.inbox.get(delivery.from, delivery.messageKey)
  if (!row) return undefined
  if (row.ack !== undefined && row.sealedWith === keysOf(inbound, delivery)) return row.ack
  return (await seal(inbound, delivery, JSON.parse(row.outcome) as Outcome)).ack
}

async function seal(
  inbound: Inbound,
  delivery: Delivery,
  outcome: Outcome,
): Promise<InboxRow & { readonly ack: string }> {
  const ack = JSON.stringify(await sealAck(inbound, delivery, outcome))
  return { outcome: JSON.stringify(outcome), ack, sealedWith: keysOf(inbound, delivery) }
}

/** The key of this server that signs, and that of the sender that can open. With other keys a stored reply is of no use. */
const keysOf = ({ context }: Inbound, { peer }: Delivery): string =>
  `${encodeBase64(context.keyring.current('sig').publicKey)} ${peer.encryptionPublicKey}`
