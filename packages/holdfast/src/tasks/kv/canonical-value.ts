// Values of the key-value store as text of the value codec with sorted members, so that equal structures are equal bytes: `cas`
// compares bytes. A member that is undefined is absent, as in JSON.

import { envelopeText, isEnvelope, valueText } from '../../engine/job/values.ts'

/** `undefined` has no text: it is absence. @throws SerializationError with the path */
export function canonicalText(value: unknown): string | undefined {
  if (value === undefined) return undefined
  const text = valueText(value, 'value')
  // An envelope may be one for an undefined member alone. The value has no cycle: the codec refuses them.
  return sortedText(isEnvelope(text) ? valueText(withoutUndefined(value), 'value') : text)
}

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
