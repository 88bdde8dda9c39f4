// POST /discover/rotate/init and /confirm: a peer replaces its keys. It proves that it has all four: it signs two challenges, with the old
// and the new signing key, and decrypts two, with the old and the new encryption key. All four or nothing.
// Invariant: without a valid proof by both old keys nothing is written.

import { timingSafeEqual } from 'node:crypto'
import type { PeerKeys } from '../store/store.ts'
import { encryptPayload } from '../wire/v1/envelope.ts'
import { envelope, signature, text } from '../wire/v1/fields.ts'
import { parseJson } from '../wire/v1/json.ts'
import { readPublicKey } from '../wire/v1/public-key.ts'
import { object, schema } from '../wire/v1/schema.ts'
import { verify } from '../wire/v1/signature.ts'
import { answer, type Inbound, rateLimited, type Route, spend } from './inbound.ts'
import { openEnvelope } from './open-envelope.ts'
import { checkNotBlocked, findRegistered, originIn } from './peers.ts'
import { refuse } from './refusal.ts'
import type { Rotation } from './rotations.ts'

const InitSchema = schema(object({ url: text, newSigningPublicKey: text, newEncryptionPublicKey: text }))
const ConfirmSchema = schema(object({ serverUrl: text, envelope }))
const ProofSchema = schema(
  object({
    signingOldSignature: signature,
    signingNewSignature: signature,
    encryptionOldPlaintext: text,
    encryptionNewPlaintext: text,
  }),
)

export const initRotation: Route = async (inbound, { body, address }) => {
  checkEnabled(inbound)
  const given = InitSchema.safeParse(body)
  if (!given.success) throw refuse('INVALID_PAYLOAD', given.error.message)
  const { newSigningPublicKey, newEncryptionPublicKey } = given.data
  const newEncryption = readPublicKey('enc', newEncryptionPublicKey)
  if (!readPublicKey('sig', newSigningPublicKey) || !newEncryption) {
    throw refuse('INVALID_PAYLOAD', 'newSigningPublicKey, newEncryptionPublicKey: expected base64 of 32 bytes')
  }
  const peer = await knownPeer(inbound, given.data.url)
  spend(inbound.limits.discover, address, peer.url)
  const oldEncryption = readPublicKey('enc', peer.encryptionPublicKey)
  if (!oldEncryption) throw refuse('INCORRECT_KEYS', 'the pinned encryption key is not a key', { from: peer.url })
  const to = { url: peer.url, publicKey: newSigningPublicKey, encryptionPublicKey: newEncryptionPublicKey }
  const begun = inbound.rotations.begin(peer, to)
  if (typeof begun === 'number') throw rateLimited(begun, peer.url)
  const { challenges } = begun
  return answer(200, {
    signingOldChallenge: challenges.signingOld,
    signingNewChallenge: challenges.signingNew,
    encryptionOldChallenge: encryptPayload(challenges.encryptionOld, oldEncryption),
    encryptionNewChallenge: encryptPayload(challenges.encryptionNew, newEncryption),
  })
}

export const confirmRotation: Route = async (inbound, { body }) => {
  checkEnabled(inbound)
  const given = ConfirmSchema.safeParse(body)
  if (!given.success) throw refuse('INVALID_PAYLOAD', given.error.message)
  const { url } = await knownPeer(inbound, given.data.serverUrl)
  const proof = ProofSchema.safeParse(parseJson(await openEnvelope(inbound, given.data.envelope))?.value)
  if (!proof.success) throw refuse('INVALID_PAYLOAD', 'the content of the envelope has no proofs')
  const rotation = inbound.rotations.tryOf(url)
  if (!rotation || !isProof(rotation, proof.data)) {
    throw refuse('INVALID_SIGNATURE', 'the old and the new keys are not proven', { from: url })
  }
  inbound.rotations.end(url)
  const { store, clock } = inbound.context
  // The pin may have changed meanwhile, by the operator.
  if (!(await store.peers.rotate(rotation.from, rotation.to, clock.now()))) {
    throw refuse('PIN_MISMATCH', 'the pinned keys are not those of the begin of the rotation', { from: url })
  }
  inbound.context.emit('pin_rotated', { origin: url })
  return answer(200, { message: 'rotated' })
}

function checkEnabled({ context }: Inbound): void {
  if (!context.policies.inbound.acceptRotation) throw refuse('ROTATION_DISABLED', 'this server accepts no new keys')
}

async function knownPeer(inbound: Inbound, url: string): Promise<PeerKeys> {
  const origin = originIn(url, inbound.context)
  if (origin === undefined) throw refuse('ORIGIN_INVALID', 'the url does not name a server')
  await checkNotBlocked(inbound, origin)
  return findRegistered(inbound, origin)
}

function isProof({ from, to, challenges }: Rotation, given: ReturnType<typeof ProofSchema.parse>): boolean {
  return (
    verify(challenges.signingOld, given.signingOldSignature, from.publicKey) &&
    verify(challenges.signingNew, given.signingNewSignature, to.publicKey) &&
    isSame(challenges.encryptionOld, given.encryptionOldPlaintext) &&
    isSame(challenges.encryptionNew, given.encryptionNewPlaintext)
  )
}

function isSame(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
