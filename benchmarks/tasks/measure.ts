// What is measured of a message queue. Handlers do nothing; messages are about 100 bytes of JSON.

import { median } from '../statistics.ts'
import type { MessageQueue } from 'holdfast/tasks'

const message = (number: number): object => ({ number, type: 'bench', text: 'x'.repeat(60) })

export const messages = (count: number): object[] => Array.from({ length: count }, (_, number) => message(number))

/** Work that goes on in so many strands until the time is over: how much of it in a second. */
async function rate(strands: number, seconds: number, work: () => Promise<number>): Promise<number> {
  const began = performance.now()
  const deadline = began + 1_000 * seconds
  let done = 0
  const strand = async (): Promise<void> => {
    while (performance.now() < deadline) {
      const more = await work()
      done += more
    }
  }
  await Promise.all(Array.from({ length: strands }, strand))
  return done / ((performance.now() - began) / 1_000)
}

/** Messages per second. */
export function enqueueRate(queue: MessageQueue, inFlight: number, seconds: number): Promise<number> {
  let sent = 0
  return rate(inFlight, seconds, async () => {
    await queue.enqueue(message(sent++))
    return 1
  })
}

/** Messages per second, a hundred in a batch. */
export function batchRate(queue: MessageQueue, inFlight: number, seconds: number): Promise<number> {
  return rate(inFlight, seconds, async () => {
    await queue.enqueueMany!(messages(100))
    return 100
  })
}

/** So many, so many at a time. */
export async function sendEach(queue: MessageQueue, count: number, inFlight: number): Promise<void> {
  let sent = 0
  const send = async (): Promise<void> => {
    while (sent < count) await queue.enqueue(message(sent++))
  }
  await Promise.all(Array.from({ length: inFlight }, send))
}

/** Plain ones, and some that are due in an hour. Ten batches at a time: some take one commit a message. */
export async function fill(queue: MessageQueue, count: number, later = 0): Promise<void> {
  for (const [total, options] of [
    [count, undefined],
    [later, { delay: hour }],
  ] as const) {
    let left = total
    const strand = async (): Promise<void> => {
      while (left > 0) {
        const size = Math.min(left, 100)
        left -= size
        await queue.enqueueMany!(messages(size), options)
      }
    }
    await Promise.all(Array.from({ length: 10 }, strand))
  }
}

/** As Fedify's queues want it, and ours take it too: some call its methods, some read its fields. */
const hour = { hours: 1, total: () => 3_600_000, toString: () => 'PT1H' } as { readonly hours: number }

/** From the first message on, at most so many and so long: messages per second. */
export async function handleRate(queue: MessageQueue, most: number, seconds: number): Promise<number> {
  const at: number[] = []
  const stop = new AbortController()
  // Some look for a first message only when their poll comes.
  const first = setTimeout(() => stop.abort(), 15_000)
  let timer: NodeJS.Timeout | undefined
  await queue.listen(
    () => {
      timer ??= setTimeout(() => stop.abort(), 1_000 * seconds)
      at.push(performance.now())
      if (at.length >= most) stop.abort()
    },
    { signal: stop.signal },
  )
  clearTimeout(first)
  clearTimeout(timer)
  return at.length < 2 ? NaN : (at.length - 1) / ((at.at(-1)! - at[0]!) / 1_000)
}

/** Ends when so many were handled. */
export async function handleSome(queue: MessageQueue, count: number): Promise<void> {
  const stop = new AbortController()
  let handled = 0
  await queue.listen(() => void (++handled === count && stop.abort()), { signal: stop.signal })
}

/** The median of one awaited enqueue, in ms. */
export async function enqueueMs(queue: MessageQueue, times: number): Promise<number> {
  const taken: number[] = []
  for (let number = 0; number < times; number++) {
    const began = performance.now()
    await queue.enqueue(message(number))
    taken.push(performance.now() - began)
  }
  return median(taken)
}

/** From the enqueue to the handler, so many messages under way: each is followed by another when it has arrived. */
export async function deliveryRate(queue: MessageQueue, underWay: number, seconds: number): Promise<number> {
  const stop = new AbortController()
  const waiting: (() => void)[] = []
  const listening = queue.listen(() => waiting.shift()?.(), { signal: stop.signal })
  const deliver = async (): Promise<number> => {
    const { promise, resolve } = Promise.withResolvers<void>()
    waiting.push(resolve)
    await queue.enqueue(message(0))
    await promise
    return 1
  }
  // Not before somebody listens: some hear nothing of what came before, until they poll.
  await deliver()
  const delivered = await rate(underWay, seconds, deliver)
  stop.abort()
  await listening
  return delivered
}
