// A binary heap whose members know their index in it, so that any of them can be removed in O(log n).

export interface HeapSlot {
  /** 0 and above: the index in a heap. -1: in no heap or list. Below -1: in the array of a SortedList. */
  heapIndex: number
}

export class Heap<T extends HeapSlot> {
  readonly items: T[] = []
  readonly #before: (a: T, b: T) => boolean

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before
  }

  get size(): number {
    return this.items.length
  }

  peek(): T | undefined {
    return this.items[0]
  }

  push(item: T): void {
    this.items.push(item)
    this.#up(item, this.items.length - 1)
  }

  pop(): T | undefined {
    const top = this.items[0]
    if (top !== undefined) this.remove(top)
    return top
  }

  remove(item: T): void {
    const index = item.heapIndex
    const last = this.items.pop()!
    item.heapIndex = -1
    if (last === item) return
    if (index > 0 && this.#before(last, this.items[(index - 1) >> 1]!)) this.#up(last, index)
    else this.#down(last, index)
  }

  /** The members that match. `matches` must be monotonic: below a member that does not match, none does. */
  *prefix(matches: (item: T) => boolean): Generator<T> {
    const open = [0]
    while (open.length > 0) {
      const index = open.pop()!
      const item = this.items[index]
      if (item === undefined || !matches(item)) continue
      yield item
      open.push(2 * index + 1, 2 * index + 2)
    }
  }

  #up(item: T, index: number): void {
    const { items } = this
    while (index > 0) {
      const parentIndex = (index - 1) >> 1
      const parent = items[parentIndex]!
      if (!this.#before(item, parent)) break
      items[index] = parent
      parent.heapIndex = index
      index = parentIndex
    }
    items[index] = item
    item.heapIndex = index
  }

  #down(item: T, index: number): void {
    const { items } = this
    const half = items.length >> 1
    while (index < half) {
      let childIndex = 2 * index + 1
      let child = items[childIndex]!
      const right = items[childIndex + 1]
      if (right !== undefined && this.#before(right, child)) {
        child = right
        childIndex++
      }
      if (!this.#before(child, item)) break
      items[index] = child
      child.heapIndex = index
      index = childIndex
    }
    items[index] = item
    item.heapIndex = index
  }
}
