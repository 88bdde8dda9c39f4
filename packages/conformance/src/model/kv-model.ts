// The model of the key-value contract: a Map.

import type FastCheck from 'fast-check'
import type { KvKey } from 'holdfast/storage'
import type { Bytes } from 'holdfast/storage'
import type { Subject } from '../case.ts'
import { must, same, sameBytes, show } from './reference.ts'

/** Keys of which some are prefixes of others, or equal when joined. */
const keys: readonly KvKey[] = [
  ['a'],
  ['a', 'b'],
  ['a/b'],
  ['a', ''],
  ['__proto__'],
  ['a%002fb'],
  [''],
  ['\0', '\ud800'],
]
const values: readonly Bytes[] = [new Uint8Array(), new Uint8Array([0]), new Uint8Array([0, 255])]

export interface KvCommand {
  readonly verb: 'get' | 'set' | 'setIfAbsent' | 'cas' | 'delete' | 'list' | 'sweep' | 'advance'
  readonly key: number
  readonly value: number
  /** 0 means absence. */
  readonly expected: number
  readonly ttl: number
}

export function kvCommandsOf(fc: typeof FastCheck): FastCheck.Arbitrary<readonly KvCommand[]> {
  const command = fc.record({
    verb: fc.constantFrom(
      ...(['get', 'set', 'setIfAbsent', 'cas', 'cas', 'delete', 'list', 'sweep', 'advance'] as const),
    ),
    key: fc.nat({ max: keys.length - 1 }),
    value: fc.nat({ max: values.length }),
    expected: fc.nat({ max: values.length }),
    ttl: fc.nat({ max: 3 }),
  })
  return fc.array(command, { minLength: 1, maxLength: 40, size: 'max' })
}

interface Entry {
  readonly value: Bytes
  readonly until: number
}

export async function runKv(subject: Subject, commands: readonly KvCommand[], lines?: string[]): Promise<number> {
  const { storage, advance } = subject
  const { kv } = storage
  const unit = 1_000
  const entries = new Map<string, Entry>()
  let now = 0
  const read = (key: KvKey): Bytes | undefined => {
    const entry = entries.get(JSON.stringify(key))
    return entry && entry.until > now ? entry.value : undefined
  }
  const write = (key: KvKey, value: Bytes, ttlMs = Infinity): void =>
    void entries.set(JSON.stringify(key), { value, until: now + ttlMs })

  for (const { verb, key: number, value, expected, ttl } of commands) {
    const key = keys[number]!
    const ttlMs = [undefined, 0, unit, 3 * unit][ttl]
    const options = ttlMs === undefined ? undefined : { ttlMs }
    const bytes = values[value % values.length]!
    lines?.push(`kv.${verb}(${show(key)}) ${show({ value, expected, ttl })}`)
    switch (verb) {
      case 'get':
        sameBytes('kv.get', await kv.get(key), read(key))
        break
      case 'set':
        await kv.set(key, bytes, options)
        write(key, bytes, ttlMs)
        break
      case 'setIfAbsent':
        same('kv.setIfAbsent', await kv.setIfAbsent(key, bytes, options), read(key) === undefined)
        if (read(key) === undefined) write(key, bytes, ttlMs)
        break
      case 'cas': {
        const [from, to] = [values[expected - 1], values[value - 1]]
        const holds = show(read(key)) === show(from)
        same('kv.cas', await kv.cas(key, from, to, options), holds)
        if (holds && to) write(key, to, ttlMs)
        else if (holds) entries.delete(JSON.stringify(key))
        break
      }
      case 'delete':
        same('kv.delete', await kv.delete(key), read(key) !== undefined)
        entries.delete(JSON.stringify(key))
        break
      case 'list':
        await compareList(subject, key, 1 + value, (one) => read(one) !== undefined)
        break
      case 'sweep':
        // A lossy storage may lose the reply: then repeat the call.
        await storage.sweep({ limit: 1 + value }).catch(() => storage.sweep({ limit: 1 + value }))
        break
      case 'advance':
        if (!advance) break
        await advance((1 + value) * unit)
        now += (1 + value) * unit
    }
  }
  for (const key of keys) sameBytes(`the value of ${show(key)}`, await kv.get(key), read(key))
  return commands.length
}

async function compareList(
  { storage }: Subject,
  prefix: KvKey,
  limit: number,
  isThere: (key: KvKey) => boolean,
): Promise<void> {
  const found: KvKey[] = []
  for (let cursor: string | undefined; ;) {
    const page = await storage.kv.list(prefix, cursor === undefined ? { limit } : { limit, cursor })
    found.push(...page.items.map((item) => item.key))
    if (page.nextCursor === undefined) break
    must(found.length <= keys.length, () => `kv.list repeats: ${show(found)}`)
    cursor = page.nextCursor
  }
  const expected = keys.filter((key) => isThere(key) && prefix.every((part, index) => key[index] === part))
  same('kv.list', show(found.map(show).toSorted()), show(expected.map(show).toSorted()))
}
