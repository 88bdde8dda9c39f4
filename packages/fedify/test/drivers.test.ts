// Fedify's own suite for message queues: on every driver with its own retries, on the usual ones also without.

import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { testMessageQueue } from '@fedify/testing'
import { HoldfastMessageQueue } from '@holdfast/fedify'
import { isUsual } from '../../holdfast/test/full-size.ts'
import { stopServers, processDrivers } from '../../holdfast/test/processes/drivers.ts'
import { Temporal } from '@js-temporal/polyfill'

// The suite expects the global that this Node may not have yet.
if (!('Temporal' in globalThis)) Object.assign(globalThis, { Temporal })

after(stopServers)

// Concurrently: most of its time is waiting.
suite('Fedify’s suite', { concurrency: 8 }, () => {
  for (const driver of Object.values(processDrivers)) {
    // Which of the two retries is decided above the storage.
    for (const nativeRetrial of isUsual(driver.name) ? [true, false] : [true]) {
      test(`[E1] testMessageQueue of Fedify passes on ${driver.name}, ${nativeRetrial ? 'native' : 'not native'}`, async () => {
        const place = await driver.open()
        let opened = 0
        await testMessageQueue(
          () => (opened++, new HoldfastMessageQueue(place.storage(), { nativeRetrial })),
          async ({ mq1, mq2 }) => {
            await Promise.all([mq1.close(), mq2.close()])
            await place.close()
          },
          { testOrderingKey: true },
        )
        assert.equal(opened, 2)
      })
    }
  }
})
