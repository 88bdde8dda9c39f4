// The measurements of a message queue. Handlers do nothing; messages are about 100 bytes of JSON.

import { median } from '../statistics.ts'
import type { MessageQueue } from 'holdfast/tasks'

const message = (number: number): object => ({ number, type: 'bench', text: 'x'.repeat(60) })

export const messages = (count: number): object[] => Array.from({ length: count }, (_, number) => message(number))

/**
 * Runs the work concurrently until the time is over, after a warm-up of half that time: to connect and to make the tables takes some
 * queues as long as hundreds of calls. Resolves with the work per second.
 */
async function rate(concurrency: number, seconds: number, work: () => Promise<number>): Promise<number> {
  await measuredRate(concurrency, seconds / 2, work)
  return measuredRate(concurrency, seconds, work)
}

async function measuredRate(concurrency: number, seconds: number, work: () => Promise<number>): Promise<number> {
  const began = performance.now()
  const deadline = began + 1_000 * seconds
  let done = 0
  const loop = async (): Promise<void> => {
    while (performance.now() < deadline) {
      const more = await work()
      done += more
    }
  }
  await Promise.all(Array.from({ length: concurrency }, loop))
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

/** Sends `count` messages, `inFlight` at a time. */
export async function sendEach(queue: MessageQueue, count: number, inFlight: number): Promise<void> {
  let sent = 0
  const send = async (): Promise<void> => {
    while (sent < count) await queue.enqueue(message(sent++))
  }
  await Promise.all(Array.from({ length: inFlight }, send))
}

/** Adds plain messages and messages due in an hour. Ten batches at a time: some queues use one commit per message. */
export async function fill(queue: MessageQueue, count: number, later = 0): Promise<void> {
  for (const [total, options] of [
    [count, undefined],
    [later, { delay: hour }],
  ] as const) {
    let left = total
    const loop = async (): Promise<void> => {
      while (left > 0) {
        const size = Math.min(left, 100)
        left -= size
        await queue.enqueueMany!(messages(size), options)
      }
    }
    await Promise.all(Array.from({ length: 10 }, loop))
  }
}

/** A duration as Fedify's queues need it: some call its methods, some read its fields. */
const hour = { hours: 1, total: () => 3_600_000, toString: () => 'PT1H' } as { readonly hours: number }

/** Messages per second from the first message on, within both limits. */
export async function handleRate(queue: MessageQueue, most: number, seconds: number): Promise<number> {
  const at: number[] = []
  const stop = new AbortController()
  // Some queues see a first message only at their next poll.
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

/** Resolves when `count` messages were handled. */
export async function handleSome(queue: MessageQueue, count: number): Promise<void> {
  const stop = new AbortController()
  let handled = 0
  await queue.listen(() => void (++handled === count && stop.abort()), { signal: stop.signal })
}

/** The median duration of one enqueue, ms. */
export async function enqueueMs(queue: MessageQueue, times: number): Promise<number> {
  const taken: number[] = []
  for (let number = 0; number < times; number++) {
    const began = performance.now()
    await queue.enqueue(message(number))
    taken.push(performance.now() - began)
  }
  return median(taken)
}

/** Messages per second from enqueue to handler, with a constant number in flight. */
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
  // Not before a listener exists: some queues see earlier messages only at their next poll.
  await deliver()
  const delivered = await rate(underWay, seconds, deliver)
  stop.abort()
  await listening
  return delivered
}
