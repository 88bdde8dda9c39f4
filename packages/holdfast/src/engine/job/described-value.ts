// Encodes values that JSON would lose or change: as JSON, and a table of types by JSON pointer (values.ts shows the envelope).
//
// Invariant: restore(JSON of describe(value)) is deeply equal to the value, or describe throws ValueRefused with the path.
// Recursive, as JSON.stringify is: a value nested too deep for the stack is refused, not stored.

import { types as is } from 'node:util'

/** Says why a value cannot be stored, and where it is, such as `.items[2].price`. */
export class ValueRefused extends Error {
  readonly path: string
  readonly reason: string

  constructor(path: string, reason: string, cause?: unknown) {
    super(path === '' ? reason : `${path}: ${reason}`, { cause })
    this.path = path
    this.reason = reason
  }
}

const arrays = {
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
} as const

type ArrayName = keyof typeof arrays
type TypeName = 'undefined' | 'number' | 'bigint' | 'Date' | 'URL' | 'Map' | 'Set' | 'Buffer' | ArrayName

interface Described {
  /** JSON pointer → type. */
  readonly types: Readonly<Record<string, TypeName>>
  readonly json: string
}

/** Encodes a value. @throws ValueRefused */
export function describe(value: unknown): Described {
  const types: Record<string, TypeName> = {}
  try {
    const form = plainForm(value, { types, ancestors: new Set(), pointer: '', path: '' })
    return { types, json: JSON.stringify(form) }
  } catch (error) {
    if (error instanceof RangeError) throw new ValueRefused('', 'the value is nested too deep', error)
    throw error
  }
}

interface Place {
  readonly types: Record<string, TypeName>
  /** Objects that contain the value. Meeting one of them again is a cycle. */
  readonly ancestors: Set<object>
  readonly pointer: string
  readonly path: string
}

/** The JSON value that stands for the value. Adds its type to the table of the place. */
function plainForm(value: unknown, place: Place): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'undefined':
      return typed(place, 'undefined', null)
    case 'bigint':
      return typed(place, 'bigint', String(value))
    case 'number':
      if (Number.isFinite(value) && !Object.is(value, -0)) return value
      return typed(place, 'number', Object.is(value, -0) ? '-0' : String(value))
    case 'object':
      return value === null ? null : objectForm(value, place)
    default:
      throw new ValueRefused(place.path, `a ${typeof value} cannot be stored`)
  }
}

function typed<F>({ types, pointer }: Place, type: TypeName, form: F): F {
  types[pointer] = type
  return form
}

function objectForm(value: object, place: Place): unknown {
  if (place.ancestors.has(value))
    throw new ValueRefused(place.path, 'a reference to an object that contains it cannot be stored')
  place.ancestors.add(value)
  const form = readForm(value, place)
  place.ancestors.delete(value)
  return form
}

function readForm(value: object, place: Place): unknown {
  try {
    return formOf(value, place)
  } catch (error) {
    if (error instanceof ValueRefused || error instanceof RangeError) throw error
    throw new ValueRefused(place.path, 'reading the value threw an error', error)
  }
}

function formOf(value: object, place: Place): unknown {
  if (is.isProxy(value)) throw new ValueRefused(place.path, 'a Proxy cannot be stored')
  if (isBuiltIn(value)) return builtInForm(value, place)
  const { toJSON } = value as { toJSON?: unknown }
  if (typeof toJSON === 'function') return plainForm((toJSON as () => unknown).call(value), place)
  if (!isPlainObject(value)) throw new ValueRefused(place.path, `${instanceName(value)} cannot be stored`)
  return recordForm(value as Record<string, unknown>, place)
}

const isBuiltIn = (value: object): boolean =>
  Array.isArray(value) ||
  is.isDate(value) ||
  is.isMap(value) ||
  is.isSet(value) ||
  ArrayBuffer.isView(value) ||
  value instanceof URL

function builtInForm(value: object, place: Place): unknown {
  // A subclass would come back as its base class, without what it adds.
  if (!isOfBaseClass(value)) throw new ValueRefused(place.path, `${instanceName(value)} cannot be stored`)
  if (Array.isArray(value)) return arrayForm(value, place)
  if (ArrayBuffer.isView(value)) return bytesForm(value, place)
  if (Object.keys(value).length > 0) {
    throw new ValueRefused(place.path, `${instanceName(value)} with properties of its own cannot be stored`)
  }
  if (is.isDate(value)) return typed(place, 'Date', Number.isNaN(value.getTime()) ? null : value.toISOString())
  if (is.isMap(value)) {
    const entries = [...value].map(([key, item], index) => [
      plainForm(key, inside(place, `/${index}/0`, `.<key ${index}>`)),
      plainForm(item, inside(place, `/${index}/1`, `.<value ${index}>`)),
    ])
    return typed(place, 'Map', entries)
  }
  if (is.isSet(value)) {
    const items = [...value].map((item, index) => plainForm(item, inside(place, `/${index}`, `.<item ${index}>`)))
    return typed(place, 'Set', items)
  }
  return typed(place, 'URL', (value as URL).href)
}

/** Of any realm: a base class is as many prototypes from the end of its chain as ours is. */
function isOfBaseClass(value: object): boolean {
  if (!ArrayBuffer.isView(value)) return chainLength(value) === 2
  return Object.getPrototypeOf(value) === Buffer.prototype || chainLength(value) === (is.isDataView(value) ? 2 : 3)
}

function chainLength(value: object): number {
  let length = 0
  for (let at = Object.getPrototypeOf(value) as object | null; at; at = Object.getPrototypeOf(at) as object | null)
    length++
  return length
}

function arrayForm(value: readonly unknown[], place: Place): unknown[] {
  if (Object.keys(value).length !== value.length) {
    throw new ValueRefused(place.path, 'an array with holes or named properties cannot be stored')
  }
  return value.map((item, index) => plainForm(item, inside(place, `/${index}`, `[${index}]`)))
}

function bytesForm(value: ArrayBufferView, place: Place): string {
  const name = Buffer.isBuffer(value) ? 'Buffer' : (value as Uint8Array)[Symbol.toStringTag]
  if (name !== 'Buffer' && !Object.hasOwn(arrays, name))
    throw new ValueRefused(place.path, `a ${name} cannot be stored`)
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  return typed(place, name as TypeName, bytes.toString('base64'))
}

function recordForm(value: Record<string, unknown>, place: Place): unknown {
  const symbol = Object.getOwnPropertySymbols(value).find((key) =>
    Object.prototype.propertyIsEnumerable.call(value, key),
  )
  if (symbol) throw new ValueRefused(place.path, 'a property under a symbol cannot be stored')
  // Without a prototype, so that '__proto__' is a key like any other.
  const form = Object.create(null) as Record<string, unknown>
  for (const key of Object.keys(value)) {
    const pointer = `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
    const step = /^[\w$]+$/.test(key) ? `.${key}` : `[${JSON.stringify(key.slice(0, 64))}]`
    const member = inside(place, pointer, step)
    form[key] = plainForm(memberValue(value, key, member), member)
  }
  return form
}

function memberValue(value: Record<string, unknown>, key: string, { path }: Place): unknown {
  try {
    return value[key]
  } catch (error) {
    throw new ValueRefused(path, 'reading the value threw an error', error)
  }
}

const inside = ({ types, ancestors, pointer, path }: Place, pointerStep: string, pathStep: string): Place => ({
  types,
  ancestors,
  pointer: pointer + pointerStep,
  path: path + pathStep,
})

/** Also for objects of another realm: their Object.prototype has no prototype either. */
function isPlainObject(value: object): boolean {
  if (is.isArgumentsObject(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

function instanceName(value: object): string {
  const { name } = (value.constructor ?? {}) as { name?: unknown }
  return typeof name === 'string' && name !== '' ? `an instance of ${name.slice(0, 64)}` : 'a class instance'
}

// ── decoding ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Decodes an envelope. @param envelope as JSON.parse returned it @throws TypeError if describe() did not make it */
export function restore(envelope: unknown): unknown {
  const { types, value } = envelope as { types?: unknown; value?: unknown }
  if (types === null || typeof types !== 'object') throw new TypeError('expected an envelope with types')
  const root = { value }
  // The deepest first, so that the items of a Map or Set are complete before it is built.
  const pointers = Object.keys(types).toSorted((a, b) => depthOf(b) - depthOf(a))
  for (const pointer of pointers) {
    const steps = pointer === '' ? [] : pointer.slice(1).split('/').map(unescape)
    restoreAt(root, ['value', ...steps], (types as Record<string, unknown>)[pointer])
  }
  return root.value
}

const depthOf = (pointer: string): number => pointer.split('/').length
const unescape = (step: string): string => step.replaceAll('~1', '/').replaceAll('~0', '~')

function restoreAt(root: object, steps: readonly string[], type: unknown): void {
  let holder: object = root
  for (const step of steps.slice(0, -1)) holder = memberOf(holder, step) as object
  const last = steps.at(-1)!
  const restored = restoredValue(memberOf(holder, last), type)
  // Defined, not assigned, so that '__proto__' is a key like any other.
  Object.defineProperty(holder, last, { value: restored, writable: true, enumerable: true, configurable: true })
}

function memberOf(holder: unknown, step: string): unknown {
  if (holder === null || typeof holder !== 'object' || !Object.hasOwn(holder, step)) {
    throw new TypeError(`expected a member '${step}', which the table of types names`)
  }
  return (holder as Record<string, unknown>)[step]
}

function restoredValue(form: unknown, type: unknown): unknown {
  switch (type) {
    case 'undefined':
      return undefined
    case 'number':
      if (!['-0', 'NaN', 'Infinity', '-Infinity'].includes(form as string)) throw unexpected('a number as text')
      return Number(form)
    case 'bigint':
      return BigInt(textOf(form))
    case 'Date':
      return dateOf(form)
    case 'URL':
      return new URL(textOf(form))
    case 'Map':
      return new Map(listOf(form) as [unknown, unknown][])
    case 'Set':
      return new Set(listOf(form))
    case 'Buffer':
      return Buffer.from(textOf(form), 'base64')
    default: {
      if (typeof type !== 'string' || !Object.hasOwn(arrays, type)) throw unexpected('a known type')
      const bytes = Uint8Array.from(Buffer.from(textOf(form), 'base64'))
      return new arrays[type as ArrayName](bytes.buffer)
    }
  }
}

const unexpected = (expected: string): TypeError => new TypeError(`expected ${expected}`)

function textOf(form: unknown): string {
  if (typeof form !== 'string') throw unexpected('text')
  return form
}

function listOf(form: unknown): unknown[] {
  if (!Array.isArray(form)) throw unexpected('an array')
  return form as unknown[]
}

function dateOf(form: unknown): unknown {
  // oxlint-disable-next-line no-restricted-globals -- the user's own value: no time is read
  const date = new Date(form === null ? NaN : textOf(form))
  if (form !== null && Number.isNaN(date.getTime())) throw unexpected('an ISO 8601 date')
  return date
}
