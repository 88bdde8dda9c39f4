// Items by their ids, several of one id. Often there is one item at a time: it has a place of its own. A Map whose only entry comes
// and goes is rebuilt every few times, which took longer than all else that a wait does. Others are in a Map by the hashes of their
// ids (hash-of.ts says why).

import { hashOf } from '../hash-of.ts'

interface Item {
  readonly id: string
}

const none: readonly never[] = []

/** Items may be deleted while they are iterated over. */
export class ById<T extends Item> {
  /** An item that came when there was no other. Others, also of its id, are in the map. */
  #only: T | undefined
  /** Nearly every hash has one item. */
  readonly #others = new Map<number, T | Several<T>>()
  readonly #hashOf: (id: string) => number

  constructor(hash: (id: string) => number = hashOf) {
    this.#hashOf = hash
  }

  get isEmpty(): boolean {
    return this.#only === undefined && this.#others.size === 0
  }

  /** The ids of all items: one may come twice. */
  ids(): Iterable<string> {
    const ids: string[] = []
    for (const { id } of this) ids.push(id)
    return ids
  }

  of(id: string): readonly T[] {
    const others = this.#others.size === 0 ? none : this.#othersOf(id)
    if (this.#only?.id !== id) return others
    return others.length === 0 ? [this.#only] : [this.#only, ...others]
  }

  *[Symbol.iterator](): Iterator<T> {
    if (this.#only) yield this.#only
    for (const items of this.#others.values()) yield* listOf(items)
  }

  add(item: T): void {
    if (this.isEmpty) {
      this.#only = item
      return
    }
    const hash = this.#hashOf(item.id)
    const others = this.#others.get(hash)
    this.#others.set(hash, others === undefined ? item : new Several([...listOf(others), item]))
  }

  delete(item: T): void {
    if (this.#only === item) {
      this.#only = undefined
      return
    }
    const hash = this.#hashOf(item.id)
    const others = this.#others.get(hash)
    if (others === undefined) return
    const kept = listOf(others).filter((other) => other !== item)
    if (kept.length === 0) this.#others.delete(hash)
    else this.#others.set(hash, new Several(kept))
  }

  #othersOf(id: string): readonly T[] {
    const others = this.#others.get(this.#hashOf(id))
    if (others === undefined) return none
    return listOf(others).filter((other) => other.id === id)
  }
}

/** Items whose ids have the same hash. */
class Several<T> {
  readonly all: readonly T[]

  constructor(all: readonly T[]) {
    this.all = all
  }
}

function listOf<T>(items: T | Several<T>): readonly T[] {
  return items instanceof Several ? items.all : [items]
}
