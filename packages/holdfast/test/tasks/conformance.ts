// The suites of @holdfast/conformance for message queues and key-value stores, on a storage.

import { test } from 'node:test'
import { type MessageQueueSubject, testKvStore, testMessageQueue } from '@holdfast/conformance'
import { StorageKvStore, StorageMessageQueue } from 'holdfast/tasks'
import type { ProcessDriver } from '../processes/drivers.ts'

export async function conformanceTests(driver: ProcessDriver): Promise<void> {
  const queues = await testMessageQueue({ test, create: () => queueSubject(driver) })
  const stores = await testKvStore({
    test,
    create: async () => {
      const place = await driver.open()
      const store = new StorageKvStore(place.storage())
      const close = async (): Promise<void> => {
        await store.close()
        await place.close()
      }
      return { store, close }
    },
  })
  test(`[Q4] the suites ran on ${driver.name}`, (t) => t.diagnostic(`${queues} queue cases, ${stores} store cases`))
}

export async function queueSubject(driver: ProcessDriver): Promise<MessageQueueSubject> {
  const place = await driver.open()
  const opened: StorageMessageQueue[] = []
  return {
    open: (settings) => {
      const queue = new StorageMessageQueue(place.storage(), settings)
      opened.push(queue)
      return queue
    },
    close: async () => {
      await Promise.all(opened.map((queue) => queue.close()))
      await place.close()
    },
  }
}
