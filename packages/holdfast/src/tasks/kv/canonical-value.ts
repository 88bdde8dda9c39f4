// Values of the key-value store as text of the value codec with sorted members, so that equal structures are equal bytes: `cas`
// compares bytes. A member that is undefined is absent, as in JSON: a value that is compared may have one. A value that is written
// may not, for it would come back without it; nor may it have an object with a toJSON method, which would come back as another value.

import { types as is } from 'node:util'
import { envelopeText, isEnvelope, valueText } from '../../engine/job/values.ts'
import { SerializationError } from '../../errors.ts'

/** The text of a value to compare with. `undefined` has no text: it is absence. @throws SerializationError with the path */
export function canonicalText(value: unknown): string | undefined {
  if (value === undefined) return undefined
  const text = valueText(value, 'value')
  // An envelope may be one for an undefined member alone. The value has no cycle: the codec refuses them.
  return sortedText(isEnvelope(text) ? valueText(withoutUndefined(value), 'value') : text)
}

/** The text of a value to write. @throws SerializationError with the path of what would not come back */
export function writtenText(value: unknown): string | undefined {
  const text = canonicalText(value)
  if (value !== null && typeof value === 'object') refuseLosses(value, 'value')
  return text
}

/** The codec has accepted the value: it has no cycle, and no object but plain ones, arrays and the kinds that it keeps. */
function refuseLosses(value: object, path: string): void {
  if (Array.isArray(value)) return value.forEach((item, index) => refuseLoss(item, `${path}[${index}]`))
  if (is.isMap(value)) {
    for (const [index, [key, item]] of [...value].entries()) {
      refuseLoss(key, `${path}.<key ${index}>`)
      refuseLoss(item, `${path}.<value ${index}>`)
    }
    return
  }
  if (is.isSet(value)) return [...value].forEach((item, index) => refuseLoss(item, `${path}.<item ${index}>`))
  if (is.isDate(value) || value instanceof URL || ArrayBuffer.isView(value)) return
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') {
    throw refused(path, 'an object with a toJSON method would come back as another value. Store what it returns')
  }
  for (const [name, member] of Object.entries(value)) {
    const at = /^[\w$]+$/.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`
    if (member === undefined) throw refused(at, 'a member that is undefined would be lost. Leave it out, or use null')
    refuseLoss(member, at)
  }
}

function refuseLoss(value: unknown, path: string): void {
  if (value !== null && typeof value === 'object') refuseLosses(value, path)
}

const refused = (path: string, reason: string): SerializationError =>
  new SerializationError('payload', `${path}: ${reason}`, undefined, { path })

function sortedText(text: string): string {
  const json: unknown = JSON.parse(text)
  const { types, value } = (isEnvelope(text) ? json : { types: {}, value: json }) as { types: object; value: unknown }
  const plain = sorted(value)
  // Sorting may move a member to the front that looks like the start of an envelope.
  return Object.keys(types).length === 0 && !isEnvelope(plain) ? plain : envelopeText(sorted(types), plain)
}

function withoutUndefined(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(withoutUndefined)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return Object.fromEntries(members.map(([name, member]) => [name, withoutUndefined(member)]))
}

function sorted(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(sorted).join(',')}]`
  const members = Object.keys(value)
    .toSorted()
    .map((key) => `${JSON.stringify(key)}:${sorted((value as Record<string, unknown>)[key])}`)
  return `{${members.join(',')}}`
}
