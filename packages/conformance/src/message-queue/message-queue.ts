// The suite for message queues. A case whose capability the queue lacks is skipped.

import { nameWithIds, registerCase, type SuiteRunner } from '../register-case.ts'
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

export interface TestMessageQueueOptions extends SuiteRunner {
  /** Returns an empty subject; called once for each case, and once to read the capabilities of a queue. */
  readonly create: () => MessageQueueSubject | Promise<MessageQueueSubject>
}

/** Registers every message-queue case with the runner and returns their number. */
export async function testMessageQueue({ create, ...runner }: TestMessageQueueOptions): Promise<number> {
  const probe = await create()
  const queue = await probe.open()
  await probe.close()
  for (const item of messageQueueCases) {
    const missing = item.needs?.find((need) => !meets(need, queue, probe))
    const skipReason = missing && `the queue has no ${missing}`
    const name = nameWithIds('message queue', item.name, item.proves)
    registerCase(runner, name, skipReason, async () => runQueueCase(item, await create()))
  }
  return messageQueueCases.length
}
