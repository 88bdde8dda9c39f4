// Search fields in a record, and their texts in the index. A record has them as packed bytes: name, value, name, value, …
//
// Texts and names may have any content. UTF-8 would replace half of a surrogate pair, so each UTF-16 unit is encoded by itself
// (CESU-8): nothing is lost, and the order of the bytes is the order in which JavaScript compares texts. Most texts have no
// surrogates: their bytes are those of UTF-8.

import type { SearchFields } from '../../storage.ts'
import { Packer } from './pack.ts'
import { type Unpacked, unpack } from './unpack.ts'

const packer = new Packer()

export function packSearch(fields: SearchFields): Buffer {
  return packer.pack(
    Object.entries(fields).flatMap(([name, value]) => [
      unitBytes(name),
      typeof value === 'string' ? unitBytes(value) : value,
    ]),
  )
}

export function unpackSearch(bytes: Buffer): SearchFields {
  const list = unpack(bytes) as Unpacked[]
  const fields: [name: string, value: string | number | boolean][] = []
  for (let at = 0; at < list.length; at += 2) {
    const value = list[at + 1]
    fields.push([unitText(list[at] as Buffer), value instanceof Buffer ? unitText(value) : (value as number | boolean)])
  }
  // Not an assignment: a field may be named `__proto__`.
  return Object.fromEntries(fields)
}

const surrogates = /[\ud800-\udfff]/

export function unitBytes(text: string): Buffer {
  if (!surrogates.test(text)) return Buffer.from(text)
  const bytes: number[] = []
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit < 0x80) bytes.push(unit)
    else if (unit < 0x800) bytes.push(0xc0 | (unit >> 6), 0x80 | (unit & 63))
    else bytes.push(0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 63), 0x80 | (unit & 63))
  }
  return Buffer.from(bytes)
}

function unitText(bytes: Buffer): string {
  // In UTF-8 this byte begins U+D000 … U+D7FF, in CESU-8 also the surrogates.
  if (!bytes.includes(0xed)) return bytes.toString()
  const units: number[] = []
  for (let at = 0; at < bytes.length;) {
    const first = bytes[at++]!
    if (first < 0x80) units.push(first)
    else if (first < 0xe0) units.push(((first & 31) << 6) | (bytes[at++]! & 63))
    else units.push(((first & 15) << 12) | ((bytes[at++]! & 63) << 6) | (bytes[at++]! & 63))
  }
  return String.fromCharCode(...units)
}
