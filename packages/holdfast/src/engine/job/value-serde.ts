// Values as JSON text that keeps what JSON drops: Date, Map, Set, URL, bigint, typed arrays, undefined, NaN, ±Infinity, -0,
// shared references and cycles. Everything else is refused with its path; nothing is lost in silence.
//
// The text is an array of nodes, the value is the first. A string, boolean, null or plain number is itself; any other node
// is an array: a tag, then what it holds; what is held by reference is the number of a node. Neither side recurses, so
// no depth is too deep.

import { types } from 'node:util'
import { SerializationError } from '../../errors.ts'

type Primitive = string | number | boolean | null
type Node = Primitive | readonly [tag: string, ...parts: readonly (string | number | null)[]]

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

/** @throws SerializationError with the path of what cannot be kept */
export function serializeValue(value: unknown, name = 'data'): string {
  const writer = new Writer(name)
  writer.node(value, undefined, '')
  writer.finish()
  return JSON.stringify(writer.nodes)
}

interface Place {
  readonly parent: Place | undefined
  readonly step: string
}

/** To do: a container whose parts are not written yet. */
interface Open {
  readonly index: number
  readonly value: object
  readonly place: Place
}

class Writer {
  readonly nodes: Node[] = []
  readonly #known = new Map<unknown, number>()
  readonly #open: Open[] = []
  readonly #name: string

  constructor(name: string) {
    this.#name = name
  }

  finish(): void {
    for (let open = this.#open.pop(); open; open = this.#open.pop()) {
      const { index, value, place } = open
      try {
        this.nodes[index] = this.#container(value, place)
      } catch (error) {
        if (error instanceof SerializationError) throw error
        this.#refuse('something that throws when it is read', place, error)
      }
    }
  }

  /** The number of the node that holds it. */
  node(value: unknown, parent: Place | undefined, step: string): number {
    // By identity, and -0 apart from 0.
    const isObject = value !== null && typeof value === 'object'
    const known = isObject ? this.#known.get(value) : undefined
    if (known !== undefined) return known
    const index = this.nodes.length
    const place = { parent, step }
    if (isObject) {
      this.#known.set(value, index)
      this.nodes.push(null)
      this.#open.push({ index, value, place })
    } else {
      this.nodes.push(this.#primitive(value, place))
    }
    return index
  }

  #primitive(value: unknown, place: Place): Node {
    switch (typeof value) {
      case 'string':
      case 'boolean':
        return value
      case 'undefined':
        return ['undefined']
      case 'bigint':
        return ['bigint', String(value)]
      case 'number':
        if (Number.isFinite(value) && !Object.is(value, -0)) return value
        return ['number', Object.is(value, -0) ? '-0' : String(value)]
      case 'object':
        return null
      default:
        return this.#refuse(`a ${typeof value}`, place)
    }
  }

  #container(value: object, place: Place): Node {
    if (Array.isArray(value)) return this.#array(value, place)
    if (types.isDate(value)) return ['date', Number.isNaN(value.getTime()) ? null : value.getTime()]
    if (types.isMap(value)) return this.#map(value, place)
    if (types.isSet(value)) {
      return ['set', ...[...value].map((item, index) => this.node(item, place, `.<item ${index}>`))]
    }
    if (types.isTypedArray(value)) return this.#typedArray(value, place)
    if (value instanceof URL) return ['url', value.href]
    const prototype: unknown = Object.getPrototypeOf(value)
    // Of another realm too: its Object.prototype is no other's child.
    const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null
    if (!isPlain || types.isProxy(value) || types.isArgumentsObject(value)) {
      const { name } = (value.constructor ?? {}) as { name?: unknown }
      return this.#refuse(
        typeof name === 'string' && name !== '' ? `an instance of ${name}` : 'a class instance',
        place,
      )
    }
    return this.#object(value as Record<string, unknown>, place)
  }

  #array(value: readonly unknown[], place: Place): Node {
    if (Object.keys(value).length !== value.length) return this.#refuse('an array with holes or names', place)
    return ['array', ...value.map((item, index) => this.node(item, place, `[${index}]`))]
  }

  #map(value: ReadonlyMap<unknown, unknown>, place: Place): Node {
    const parts: number[] = []
    for (const [key, item] of value) {
      const number = parts.length / 2
      parts.push(this.node(key, place, `.<key ${number}>`), this.node(item, place, `.<value ${number}>`))
    }
    return ['map', ...parts]
  }

  #typedArray(value: NodeJS.TypedArray, place: Place): Node {
    const tag = value[Symbol.toStringTag]
    if (!Object.hasOwn(arrays, tag)) return this.#refuse(`a ${tag}`, place)
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    return ['bytes', tag, bytes.toString('base64')]
  }

  #object(value: Record<string, unknown>, place: Place): Node {
    const symbol = Object.getOwnPropertySymbols(value).find((key) =>
      Object.prototype.propertyIsEnumerable.call(value, key),
    )
    if (symbol) return this.#refuse('a property under a symbol', place)
    const parts: (string | number)[] = []
    for (const key of Object.keys(value)) {
      const step = /^[\w$]+$/.test(key) ? `.${key}` : `[${JSON.stringify(key.slice(0, 64))}]`
      let item: unknown
      try {
        item = value[key]
      } catch (error) {
        return this.#refuse('a getter that throws', { parent: place, step }, error)
      }
      parts.push(key, this.node(item, place, step))
    }
    return ['object', ...parts]
  }

  #refuse(what: string, place: Place, cause?: unknown): never {
    const steps: string[] = []
    for (let at: Place | undefined = place; at; at = at.parent) steps.push(at.step)
    const path = this.#name + steps.toReversed().join('')
    throw new SerializationError('payload', `${path}: ${what} cannot be serialised`, cause, { path })
  }
}

/** @throws SerializationError */
export function deserializeValue(text: string): unknown {
  try {
    const nodes: unknown = JSON.parse(text)
    if (!Array.isArray(nodes) || nodes.length === 0) throw new TypeError('expected an array of nodes')
    const values = nodes.map(emptyOf)
    nodes.forEach((node: unknown, index) => fill(values[index], node, values))
    return values[0]
  } catch (cause) {
    throw new SerializationError('payload', 'the data cannot be decoded', cause)
  }
}

/** The value, or a container that is still empty: so cycles find it. */
function emptyOf(node: unknown): unknown {
  if (!Array.isArray(node)) {
    if (node !== null && typeof node === 'object') throw new TypeError('expected a node')
    return node
  }
  const [tag, first, second] = node as [unknown, string, string]
  switch (tag) {
    case 'undefined':
      return undefined
    case 'bigint':
      return BigInt(first)
    case 'number':
      return Number(first)
    case 'date':
      // oxlint-disable-next-line no-restricted-globals -- the user's own value: no time is read
      return new Date(first === null ? NaN : first)
    case 'url':
      return new URL(first)
    case 'bytes': {
      if (!Object.hasOwn(arrays, first)) throw new TypeError('expected the name of a typed array')
      const bytes = Uint8Array.from(Buffer.from(second, 'base64'))
      return new arrays[first as keyof typeof arrays](bytes.buffer)
    }
    case 'array':
      return []
    case 'object':
      return {}
    case 'map':
      return new Map()
    case 'set':
      return new Set()
    default:
      throw new TypeError('expected a known tag')
  }
}

function fill(target: unknown, node: unknown, values: readonly unknown[]): void {
  if (!Array.isArray(node)) return
  const at = (reference: unknown): unknown => {
    if (!Number.isInteger(reference) || !((reference as number) in values)) throw new TypeError('expected a node')
    return values[reference as number]
  }
  const parts = node.slice(1) as unknown[]
  switch (node[0]) {
    case 'array':
      for (const part of parts) (target as unknown[]).push(at(part))
      return
    case 'set':
      for (const part of parts) (target as Set<unknown>).add(at(part))
      return
    case 'map':
      for (let index = 0; index < parts.length; index += 2) {
        ;(target as Map<unknown, unknown>).set(at(parts[index]), at(parts[index + 1]))
      }
      return
    case 'object':
      // Defined, not assigned: '__proto__' is a name like any other.
      for (let index = 0; index < parts.length; index += 2) {
        const value = at(parts[index + 1])
        Object.defineProperty(target, parts[index] as string, {
          value,
          writable: true,
          enumerable: true,
          configurable: true,
        })
      }
  }
}
