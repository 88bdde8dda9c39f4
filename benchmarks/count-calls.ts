// Counts the calls to an object of any class: for the storages of Holdfast and of the peers.

export interface CallCounter<T> {
  readonly storage: T
  readonly calls: Record<string, number>
}

/** @param calls an object to count in, to share it between several storages */
export function countCalls<T extends object>(storage: T, calls: Record<string, number> = {}): CallCounter<T> {
  return { storage: counting(storage, '', calls), calls }
}

function counting<T extends object>(target: T, prefix: string, calls: Record<string, number>): T {
  return new Proxy(target, {
    get(_, property) {
      const value: unknown = Reflect.get(target, property)
      const name = `${prefix}${String(property)}`
      if (typeof value === 'function') {
        // Called on the target itself: private fields do not work through a proxy.
        return (...args: unknown[]): unknown => {
          calls[name] = (calls[name] ?? 0) + 1
          return Reflect.apply(value, target, args)
        }
      }
      return property === 'kv' ? counting(value as object, 'kv.', calls) : value
    },
  })
}
