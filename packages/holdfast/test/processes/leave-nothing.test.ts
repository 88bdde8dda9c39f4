// A process that has used every face on a driver, and stopped and closed all of it: no handle, timer or listener is left, and it ends.

import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { startChild } from './child.ts'
import { processDrivers, stopServers } from './drivers.ts'

after(stopServers)

const file = new URL('leave-nothing-child.ts', import.meta.url)

interface Look {
  readonly ms: number
  /** What keeps the process alive. */
  readonly active: readonly string[]
  /** Handles and timers that were made since the first life, and are open. */
  readonly open: readonly string[]
}

interface Report {
  readonly before: Omit<Look, 'ms'>
  readonly looks: readonly Look[]
  readonly listeners: readonly [before: object, after: object]
}

describe('after everything was stopped and closed', { concurrency: 2 }, () => {
  for (const driver of Object.values(processDrivers)) {
    test(`[trap 38] ${driver.name}: no handle, timer or listener is left, and the process ends`, async (t) => {
      const place = await driver.open()
      t.after(() => place.close())
      const child = await startChild(file, t, place, '')
      const report: Report = await child.hears(() => true, 'what is left')
      const { before, looks, listeners } = report
      const atOnce = looks[0]!.active.filter((name) => !before.active.includes(name))
      t.diagnostic(
        `${driver.name}: nothing ${looks.at(-1)!.ms} ms after the stop; at once: ${atOnce.join(', ') || 'nothing'}`,
      )
      assert.deepEqual(listeners[1], listeners[0])
      const { active, open } = looks.at(-1)!
      assert.deepEqual({ active, open }, before)
      await child.exited
    })
  }
})
