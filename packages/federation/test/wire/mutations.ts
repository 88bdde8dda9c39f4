// Messages that were changed in transit, and two readers: the functions of the wire one after the other, and the real receiving
// side. A changed message that a reader accepts is a vulnerability.

import * as fc from 'fast-check'
import { MemoryStorage } from 'holdfast'
import { createFederation } from '../../src/create.ts'
import { generateKeyText, keyringFromBase64 } from '../../src/keyring.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { FollowBodySchema } from '../../src/wire/v1/bodies.ts'
import { decryptPayload, encryptPayload } from '../../src/wire/v1/envelope.ts'
import { parseJson } from '../../src/wire/v1/json.ts'
import { type DeliveryMessage, DeliveryMessageSchema } from '../../src/wire/v1/messages.ts'
import { signText, verify } from '../../src/wire/v1/signature.ts'

const senderOrigin = 'https://a.example'
const sender = generateKeyText()
const senderKeys = keyringFromBase64(sender)
const receiverKeys = keyringFromBase64(generateKeyText())

async function message(followerId: string): Promise<DeliveryMessage> {
  const text = JSON.stringify({
    following: {
      id: 'f1',
      createdAt: new Date().toISOString(),
      followerId,
      followingId: 'bob',
      accepted: false,
      followerServerUrl: null,
    },
    federationUrl: senderOrigin,
    method: 'FEDERATE',
  })
  return {
    method: 'FEDERATE',
    payload: encryptPayload(text, receiverKeys.current('enc').publicKey),
    signature: await signText(text, senderKeys),
  }
}

// Two valid messages: parts of the second are put into the first.
const original = await message('alice')
const second = await message('mallory')
const originalText = JSON.stringify(original)

/** Returns what the receiver would act on; undefined if it refuses. */
export async function receive(text: string): Promise<DeliveryMessage | undefined> {
  const outer = DeliveryMessageSchema.safeParse(parseJson(text)?.value)
  if (!outer.success) return undefined
  let plain: string
  try {
    plain = await decryptPayload(outer.data.payload, receiverKeys)
  } catch (error) {
    if ((error as { code?: string }).code === 'DECRYPT_FAILED') return undefined
    throw error
  }
  const inner = FollowBodySchema.safeParse(parseJson(plain)?.value)
  if (!inner.success || inner.data.method !== outer.data.method) return undefined
  return verify(plain, outer.data.signature, sender.publicKey) ? outer.data : undefined
}

const store = sqliteStore({ path: ':memory:' })
const federation = createFederation({
  origin: 'https://b.example',
  storage: new MemoryStorage(),
  store,
  keyring: receiverKeys,
  handlers: { FEDERATE: () => ({ accepted: true }) },
  policies: { inbound: { perIpPerMinute: 1e9, perPeerPerMinute: 1e9 } },
})
await federation.connect()
const { publicKey, encryptionPublicKey } = sender
await store.peers.pin({ url: senderOrigin, publicKey, encryptionPublicKey }, Date.now())

/** The same with the real receiving side. @throws if it failed instead of refusing */
export async function receiveByHandler(text: string): Promise<DeliveryMessage | undefined> {
  const headers = { 'Content-Type': 'application/json', 'X-Federation-Origin': senderOrigin }
  const request = new Request('https://b.example/inbox', { method: 'POST', headers, body: text })
  const { status } = await federation.handler(request, { remoteAddress: '192.0.2.1' })
  if (status >= 500 && status !== 501) throw new Error(`answered ${status}`)
  return status === 200 ? DeliveryMessageSchema.parse(JSON.parse(text)) : undefined
}

export const stop = (): Promise<void> => federation.stop()

/** Whether this still is one of the sent messages: white space, order and unknown fields do not count. */
export function isUnchanged(received: DeliveryMessage): boolean {
  const text = JSON.stringify(received)
  return text === originalText || text === JSON.stringify(second)
}

type Field = readonly ['method'] | readonly ['signature'] | readonly ['payload', keyof DeliveryMessage['payload']]
const fields: readonly Field[] = [
  ['method'],
  ['signature'],
  ['payload', 'ephemeralPublicKey'],
  ['payload', 'iv'],
  ['payload', 'ciphertext'],
  ['payload', 'authTag'],
]
const binary = fields.slice(1)

function read(from: DeliveryMessage, [outer, inner]: Field): string {
  return inner === undefined ? (from[outer] as string) : from.payload[inner]
}

function write([outer, inner]: Field, value: unknown): string {
  return JSON.stringify(
    inner === undefined
      ? { ...original, [outer]: value }
      : { ...original, payload: { ...original.payload, [inner]: value } },
  )
}

const field = fc.constantFrom(...fields)
const binaryField = fc.constantFrom(...binary)
const position = fc.nat({ max: 1_000_000 })
/** Any code point but surrogates. The unit `binary` of fast-check is the same and first fills a map with all of them, for a second. */
const anyLetter = fc
  .nat({ max: 0x10ffff - 0x800 })
  .map((code) => String.fromCodePoint(code < 0xd800 ? code : code + 0x800))
const anyText = (maxLength: number): fc.Arbitrary<string> => fc.string({ unit: anyLetter, maxLength })
const base64Letter = fc.constantFrom(...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_ ')

const flippedBits = fc.tuple(binaryField, fc.array(position, { minLength: 1, maxLength: 4 })).map(([where, bits]) => {
  const bytes = Buffer.from(read(original, where), 'base64')
  for (const bit of new Set(bits.map((at) => at % (bytes.length * 8)))) {
    bytes.writeUInt8(bytes.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
  }
  return write(where, bytes.toString('base64'))
})
const otherBytes = fc
  .tuple(binaryField, fc.uint8Array({ maxLength: 80 }))
  .map(([where, bytes]) => write(where, Buffer.from(bytes).toString('base64')))
const resized = fc.tuple(binaryField, fc.nat({ max: 300 }), fc.boolean()).map(([where, length, atFront]) => {
  const bytes = Buffer.from(read(original, where), 'base64')
  const other = Buffer.alloc(length)
  if (atFront) other.set(bytes.subarray(0, length))
  else bytes.copy(other, Math.max(0, length - bytes.length), Math.max(0, bytes.length - length))
  return write(where, other.toString('base64'))
})
const otherLetters = fc
  .tuple(field, position, base64Letter, fc.constantFrom(0, 1))
  .map(([where, at, letter, instead]) => {
    const text = read(original, where)
    const index = at % (text.length + 1)
    return write(where, text.slice(0, index) + letter + text.slice(index + instead))
  })
const exchanged = fc.subarray([...fields], { minLength: 1, maxLength: fields.length - 1 }).map((taken) => {
  const payload: Record<string, string> = { ...original.payload }
  const mixed: Record<string, unknown> = { ...original, payload }
  for (const [outer, inner] of taken) {
    if (inner === undefined) mixed[outer] = second[outer]
    else payload[inner] = second.payload[inner]
  }
  return JSON.stringify(mixed)
})
const swapped = fc.tuple(field, field).map(([where, from]) => write(where, read(original, from)))
const otherValues = fc.tuple(field, fc.jsonValue({ maxDepth: 3 })).map(([where, value]) => write(where, value))
const otherText = fc.tuple(position, anyText(4), fc.nat({ max: 4 })).map(([at, inserted, removed]) => {
  const index = at % originalText.length
  return originalText.slice(0, index) + inserted + originalText.slice(index + removed)
})
const cutText = position.map((at) => originalText.slice(0, at % originalText.length))
const wholeValues = fc.oneof(fc.json(), anyText(100))

export const mutatedMessage: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: flippedBits },
  { weight: 2, arbitrary: otherBytes },
  { weight: 2, arbitrary: resized },
  { weight: 3, arbitrary: otherLetters },
  { weight: 1, arbitrary: exchanged },
  { weight: 1, arbitrary: swapped },
  { weight: 2, arbitrary: otherValues },
  { weight: 3, arbitrary: otherText },
  { weight: 1, arbitrary: cutText },
  { weight: 1, arbitrary: wholeValues },
)

export { originalText }
