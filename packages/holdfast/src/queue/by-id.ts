// Items by their ids, several of one id. Often there is one item at a time: it has a place of its own. A Map whose only entry comes
// and goes is rebuilt every few times, which took longer than all else that a wait does. Nearly every id has one item: a Set is made
// for the second.

interface Item {
  readonly id: string
}

const none: readonly never[] = []

/** Items may be deleted while they are iterated over. */
export class ById<T extends Item> {
  /** An item that came when there was no other. Others, also of its id, are in the map. */
  #only: T | undefined
  readonly #others = new Map<string, T | Set<T>>()

  get isEmpty(): boolean {
    return this.#only === undefined && this.#others.size === 0
  }

  /** The ids of all items: one may come twice. */
  ids(): Iterable<string> {
    const others = this.#others.keys()
    return this.#only ? [this.#only.id, ...others] : others
  }

  of(id: string): Iterable<T> {
    const others = this.#others.get(id)
    if (this.#only?.id !== id) return others === undefined ? none : itemsOf(others)
    return others === undefined ? [this.#only] : [this.#only, ...itemsOf(others)]
  }

  *[Symbol.iterator](): Iterator<T> {
    if (this.#only) yield this.#only
    for (const items of this.#others.values()) yield* itemsOf(items)
  }

  add(item: T): void {
    if (this.isEmpty) {
      this.#only = item
      return
    }
    const others = this.#others.get(item.id)
    if (others === undefined) this.#others.set(item.id, item)
    else if (others instanceof Set) others.add(item)
    else if (others !== item) this.#others.set(item.id, new Set([others, item]))
  }

  delete(item: T): void {
    if (this.#only === item) {
      this.#only = undefined
      return
    }
    const others = this.#others.get(item.id)
    const isLast = others instanceof Set ? others.delete(item) && others.size === 0 : others === item
    if (isLast) this.#others.delete(item.id)
  }
}

const itemsOf = <T extends Item>(items: T | Set<T>): Iterable<T> => (items instanceof Set ? items : [items])
