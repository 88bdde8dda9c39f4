// The test of a message queue: `testMessageQueue({ test, create })` in any runner. What a queue cannot do is skipped, by its
// capability flags: queue-delivery.ts, queue-order.ts, queue-keys.ts, queue-listen.ts.

import { meets, type MessageQueueSubject, type QueueCase, runQueueCase } from './queue-case.ts'
import { queueDeliveryCases } from './queue-delivery.ts'
import { queueKeyCases } from './queue-keys.ts'
import { queueListenCases } from './queue-listen.ts'
import { queueOrderCases } from './queue-order.ts'

export { runQueueCase } from './queue-case.ts'

export const messageQueueCases: readonly QueueCase[] = [
  ...queueDeliveryCases,
  ...queueOrderCases,
  ...queueKeyCases,
  ...queueListenCases,
]

export interface TestMessageQueueOptions {
  /** The runner's own: node:test, vitest, tap, … */
  readonly test: (name: string, run: () => Promise<void>) => unknown
  /** An empty place for each case. */
  readonly create: () => MessageQueueSubject | Promise<MessageQueueSubject>
  /** Told of each case that is not run, and why. @default registers it as a passing test that says so */
  readonly skip?: (name: string, reason: string) => void
}

/** Registers every case with the runner. Answers with their number. */
export async function testMessageQueue({ test, create, skip }: TestMessageQueueOptions): Promise<number> {
  const probe = await create()
  const queue = await probe.open()
  await probe.close()
  for (const item of messageQueueCases) {
    const name = `message queue: ${[item.name, ...(item.proves ?? []).map((one) => `[${one}]`)].join(' ')}`
    const missing = item.needs?.find((need) => !meets(need, queue, probe))
    if (missing === undefined) test(name, async () => runQueueCase(item, await create()))
    else if (skip) skip(name, `the queue has no ${missing}`)
    else test(`${name} (skipped: the queue has no ${missing})`, async () => {})
  }
  return messageQueueCases.length
}
