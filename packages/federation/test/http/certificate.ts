// Certificates for tests: Ed25519, made when they are needed, so that no key is kept in the repository.

import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

export interface Issued {
  /** PEM. */
  readonly cert: string
  /** PEM. */
  readonly key: string
  readonly name: string
  readonly privateKey: KeyObject
}

const der = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const body = Buffer.concat(parts)
  const { length } = body
  const head = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...head]), body])
}
const hex = (text: string): Buffer => Buffer.from(text, 'hex')
const sequence = (...parts: readonly Uint8Array[]): Buffer => der(0x30, ...parts)
const oid = (text: string): Buffer => der(0x06, hex(text))
const utf8 = (text: string): Buffer => der(0x0c, Buffer.from(text))
const time = (at: Date): Buffer =>
  der(
    0x17,
    Buffer.from(
      `${at
        .toISOString()
        .replaceAll(/[-:T]|\.\d+/g, '')
        .slice(2)}`,
    ),
  )
const nameOf = (text: string): Buffer => sequence(der(0x31, sequence(oid('550403'), utf8(text))))
const ed25519 = sequence(oid('2b6570'))

/** By itself, or by `issuer`. @param options.hosts DNS names; @param options.authority it may issue others */
export function issue(
  name: string,
  options: {
    readonly hosts?: readonly string[]
    readonly issuer?: Issued
    readonly authority?: boolean
    readonly until?: Date
  } = {},
): Issued {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const day = 86_400_000
  const until = options.until ?? new Date(Date.now() + 2 * day)
  const names = (options.hosts ?? []).map((host) => der(0x82, Buffer.from(host)))
  const extensions = [
    ...(options.authority ? [sequence(oid('551d13'), hex('0101ff'), der(0x04, sequence(hex('0101ff'))))] : []),
    ...(names.length > 0 ? [sequence(oid('551d11'), der(0x04, sequence(...names)))] : []),
  ]
  const body = sequence(
    hex('a003020102'),
    der(0x02, Buffer.from([1 + Math.floor(Math.random() * 100), Math.floor(Math.random() * 256)])),
    ed25519,
    nameOf(options.issuer?.name ?? name),
    sequence(time(new Date(until.getTime() - 4 * day)), time(until)),
    nameOf(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    ...(extensions.length > 0 ? [der(0xa3, sequence(...extensions))] : []),
  )
  const signature = sign(null, body, options.issuer?.privateKey ?? privateKey)
  const bytes = sequence(body, ed25519, der(0x03, Buffer.from([0]), signature))
  const cert = `-----BEGIN CERTIFICATE-----\n${bytes.toString('base64').replaceAll(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`
  return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string, name, privateKey }
}
