// The hostile values: one table for every argument of every public call. Each is made anew for each call, because some of them
// can be read once only.

export interface HostileValue {
  readonly name: string
  readonly make: () => unknown
}

const thrower = (): never => {
  throw new Error('the trap of a hostile value')
}

/** Every access throws. */
const trapped = (target: object): object =>
  new Proxy(target, {
    get: thrower,
    has: thrower,
    ownKeys: thrower,
    getPrototypeOf: thrower,
    getOwnPropertyDescriptor: thrower,
  })

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

function cycle(): object {
  const value: Record<string, unknown> = {}
  value.self = { again: value }
  return value
}

function nested(depth: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < depth; level++) value = [value]
  return value
}

/** A different answer each time that it is read. */
function changing(): object {
  let reads = 0
  return Object.defineProperty({}, 'key', {
    enumerable: true,
    get: () => (++reads === 1 ? 'first' : { reads }),
  })
}

class Instance {
  readonly x = 1
}

const texts: Readonly<Record<string, string>> = {
  'an empty text': '',
  'a blank': ' ',
  NUL: '\0',
  'NUL inside': 'a\0b',
  'a high surrogate': 'a\ud83d',
  'a low surrogate': '\ude00b',
  'surrogates in the wrong order': '\ude00\ud83d',
  '512 bytes': 'x'.repeat(512),
  '513 bytes': 'x'.repeat(513),
  '513 bytes of two each': `${'é'.repeat(256)}x`,
  '100,000 characters': 'y'.repeat(100_000),
  __proto__: '__proto__',
  constructor: 'constructor',
  toString: 'toString',
  hasOwnProperty: 'hasOwnProperty',
  'two dots': '..',
  'a path upwards': '../../x',
  'an absolute path': '/etc/passwd',
  'a slash': '/',
  'a backslash': 'a\\b',
  'an encoded path': '%2e%2e%2f',
  'a device': 'CON',
  'a trailing dot and blank': 'a. ',
  'a statement of SQL': "'; DROP TABLE holdfast_jobs; --",
  'a double quote': '"; --',
  'a placeholder of SQL': '$1',
  'a dollar quote': '$$ SELECT 1 $$',
  'a pattern of SQL': '%_\\%',
  'a format of C': '%s%n%d',
  'a script of Lua': ']] redis.call("FLUSHALL") --[[',
  'a pattern of Lua': '%b()[^%w]-',
  'a command of RESP': '\r\n*1\r\n$8\r\nFLUSHALL\r\n',
  'a hash tag': '{a}',
  'braces the wrong way': '}{',
  'an empty hash tag': '{}x',
  'a pattern of keys': '*',
  'a separator of keys': 'a:b::c',
  'a line end': 'a\nb\r\nc',
  'a byte order mark': '\ufeffa',
  'a text from right to left': '\u202eabc',
  'a family': '👩‍👩‍👧',
  'a decomposed letter': 'e\u0301',
  'a number as text': '01',
  'a big number as text': '1e400',
  'JSON as text': '{"__proto__":{"polluted":1}}',
  'a template': '${process.exit(1)}',
  'a tag': '<script>alert(1)</script>',
}

const numbers: Readonly<Record<string, number>> = {
  NaN,
  Infinity,
  '-Infinity': -Infinity,
  '-0': -0,
  zero: 0,
  one: 1,
  '-1': -1,
  'one half': 0.5,
  'the least': Number.MIN_VALUE,
  '2^31': 2 ** 31,
  '2^32': 2 ** 32,
  '2^53 - 1': 2 ** 53 - 1,
  '2^53': 2 ** 53,
  '-2^53': -(2 ** 53),
  '1e21': 1e21,
  'the greatest': Number.MAX_VALUE,
  'the last Date': 8_640_000_000_000_000,
  'after the last Date': 8_640_000_000_000_001,
}

const others: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  null: () => null,
  true: () => true,
  false: () => false,
  'a bigint': () => 5n,
  'a huge bigint': () => 10n ** 400n,
  'a symbol': () => Symbol('hostile'),
  'a function': () => () => 'x',
  'an object': () => ({}),
  'an unknown key': () => ({ hostile: 1 }),
  'an own __proto__': () => JSON.parse('{"__proto__":{"polluted":1}}') as unknown,
  'constructor.prototype': () => ({ constructor: { prototype: { polluted: 1 } } }),
  'an object without a prototype': () => Object.assign(Object.create(null) as object, { a: 1 }),
  'an instance of a class': () => new Instance(),
  'a text object': () => Object('text') as unknown,
  'an object that is a text': () => ({ toString: () => 'text', valueOf: () => 'text' }),
  'a getter that throws': () => Object.defineProperty({}, 'key', { enumerable: true, get: thrower }),
  'a getter that changes': changing,
  'a toJSON that throws': () => ({ toJSON: thrower }),
  'a toJSON that lies': () => ({ a: 1, toJSON: () => ({ b: 2 }) }),
  'a proxy that throws': () => trapped({}),
  'a revoked proxy': revoked,
  'an array': () => [],
  'an array of hostile values': () => [null, NaN, Symbol('s'), '\0'],
  'a sparse array': () => Object.assign([], { length: 3 }),
  'an array behind a proxy that throws': () => trapped([]),
  'a cycle': cycle,
  'a depth of 100,000': () => nested(100_000),
  'an invalid Date': () => new Date(NaN),
  'a Date': () => new Date(1_800_000_000_000),
  'a Map': () => new Map([['a', 1]]),
  'a Set': () => new Set([1]),
  'a regular expression': () => /(a+)+$/,
  bytes: () => new Uint8Array([0, 255, 128]),
  'a promise': () => Promise.resolve('x'),
  // oxlint-disable-next-line unicorn/no-thenable -- that is the point
  'a thenable that throws': () => ({ then: thrower }),
  'an error': () => new Error('x'),
}

const constant = (value: unknown) => () => value

export const hostileValues: readonly HostileValue[] = [
  ...Object.entries(texts).map(([name, value]) => ({ name: `text: ${name}`, make: constant(value) })),
  ...Object.entries(numbers).map(([name, value]) => ({ name: `number: ${name}`, make: constant(value) })),
  ...Object.entries(others).map(([name, make]) => ({ name, make })),
]
