// Virtual time: one heap of events, run one after the other. After each event every promise that it settled is followed up, before
// the next event begins, so that the order of everything follows from the events alone.

interface Event {
  readonly at: number
  readonly number: number
  run: (() => void) | undefined
}

export class Timeline {
  /** Ms since the start of the run. */
  now = 0
  #heap: Event[] = []
  #number = 0
  #steps = 0

  /** Number of events that have run. */
  get steps(): number {
    return this.#steps
  }

  /** Runs the function after so many ms. @returns a function that cancels it */
  after(ms: number, run: () => void): () => void {
    const event: Event = { at: this.now + Math.max(0, ms), number: ++this.#number, run }
    push(this.#heap, event)
    return () => {
      event.run = undefined
    }
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.after(ms, resolve))
  }

  /** Runs events until the script has ended. @throws what the script throws, or if it waits for nothing */
  async play(script: () => Promise<void>): Promise<void> {
    let ended = false
    const ending = script().finally(() => (ended = true))
    // A rejection is rethrown below.
    ending.catch(() => {})
    await new Promise<void>((resolve, reject) => {
      const step = (): void => {
        if (ended) return resolve()
        const event = this.#next()
        if (!event) return reject(new Error('the simulation has no event left and has not ended'))
        this.now = event.at
        this.#steps++
        try {
          event.run!()
        } catch (error) {
          return reject(error as Error)
        }
        // An immediate runs once all promises are followed up.
        setImmediate(step)
      }
      setImmediate(step)
    })
    await ending
  }

  #next(): Event | undefined {
    for (let event = pop(this.#heap); event; event = pop(this.#heap)) if (event.run) return event
    return undefined
  }
}

const isBefore = (a: Event, b: Event): boolean => a.at < b.at || (a.at === b.at && a.number < b.number)

function push(heap: Event[], event: Event): void {
  let index = heap.push(event) - 1
  while (index > 0) {
    const parent = (index - 1) >> 1
    if (isBefore(heap[parent]!, event)) break
    heap[index] = heap[parent]!
    index = parent
  }
  heap[index] = event
}

function pop(heap: Event[]): Event | undefined {
  const first = heap[0]
  const last = heap.pop()
  if (!first || heap.length === 0) return first
  let index = 0
  for (;;) {
    let child = 2 * index + 1
    if (child >= heap.length) break
    if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++
    if (isBefore(last!, heap[child]!)) break
    heap[index] = heap[child]!
    index = child
  }
  heap[index] = last!
  return first
}
