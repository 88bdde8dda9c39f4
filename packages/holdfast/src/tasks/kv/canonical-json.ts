// JSON with sorted members, so that equal structures are equal bytes.

import { SerializationError } from '../../errors.ts'

/** `undefined` has no JSON: it is absence. @throws SerializationError */
export function canonicalJson(value: unknown): string | undefined {
  if (value === undefined) return undefined
  let json: string | undefined
  try {
    json = JSON.stringify(value)
  } catch (cause) {
    throw new SerializationError('payload', 'the value cannot be serialised', cause)
  }
  if (json === undefined) throw new SerializationError('payload', `JSON cannot hold a ${typeof value}`)
  return sorted(JSON.parse(json))
}

function sorted(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(sorted).join(',')}]`
  const members = Object.keys(value)
    .toSorted()
    .map((key) => `${JSON.stringify(key)}:${sorted((value as Record<string, unknown>)[key])}`)
  return `{${members.join(',')}}`
}
