// Counts every call to a storage and to its key-value store.

export type Calls = Map<string, number>

export function counting<T extends object>(target: T, calls: Calls, prefix = ''): T {
  return new Proxy(target, {
    get(of, name) {
      const value: unknown = Reflect.get(of, name, of)
      if (name === 'kv') return counting(value as object, calls, 'kv.')
      if (typeof value !== 'function') return value
      return (...args: unknown[]): unknown => {
        const key = `${prefix}${String(name)}`
        calls.set(key, (calls.get(key) ?? 0) + 1)
        return Reflect.apply(value, of, args)
      }
    },
  })
}
