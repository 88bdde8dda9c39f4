// Counts the calls to an object, whatever its class: for storages, ours and the peers'.

export interface Counted<T> {
  readonly storage: T
  readonly calls: Record<string, number>
}

/** @param calls where they are counted, if together with those to others */
export function countCalls<T extends object>(storage: T, calls: Record<string, number> = {}): Counted<T> {
  return { storage: counting(storage, '', calls), calls }
}

function counting<T extends object>(target: T, prefix: string, calls: Record<string, number>): T {
  return new Proxy(target, {
    get(_, property) {
      const value: unknown = Reflect.get(target, property)
      const name = `${prefix}${String(property)}`
      if (typeof value === 'function') {
        // Called on the target itself: private fields know no proxies.
        return (...args: unknown[]): unknown => {
          calls[name] = (calls[name] ?? 0) + 1
          return Reflect.apply(value, target, args)
        }
      }
      return property === 'kv' ? counting(value as object, 'kv.', calls) : value
    },
  })
}
