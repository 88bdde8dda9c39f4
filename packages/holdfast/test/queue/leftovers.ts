// A stopped queue leaves no handle, timer or listener behind.

import assert from 'node:assert/strict'
import { createHook } from 'node:async_hooks'
import { describe, test } from 'node:test'
import { bench, type Bench, type TestDriver, until } from './driver.ts'

/** What stays until it is closed, cleared or over. A timer that does not keep the process running counts too. */
const kinds = /^(Timeout|Immediate|TCP|PIPE|TLS|UDP|FSEVENT|STATWATCHER|WORKER|MESSAGEPORT|Signal)/i

const jobs = 20

export function leftoverTests(driver: TestDriver): void {
  describe(`${driver.name}: leftovers`, () => {
    test('[trap 38] after a start, jobs, waits, a schedule and a stop no handle, timer or listener is left', async (t) => {
      const on = await bench(t, driver)
      // What a process loads and opens once is not left over.
      await oneLife(on, 'first')
      const listeners = listenersOfProcess()
      const { left, end, disable } = recordResources()
      t.after(disable)
      await oneLife(on, 'second')
      end()
      // Sockets close, and the hook is told, a little later.
      await until(() => left().length === 0, 'the end of what was begun').catch((error: Error) => {
        assert.fail(`${error.message}: ${left().join(', ')}`)
      })
      assert.deepEqual(listenersOfProcess(), listeners)
    })
  })
}

async function oneLife({ queue }: Bench, name: string): Promise<void> {
  const every = { payload: 0, everyMs: 60_000 }
  const worker = queue<number, number>({ name, concurrency: 5, limits: { concurrency: 5 }, schedules: { every } })
  const asking = queue<number, number>({ name })
  worker.execute(({ payload }) => payload)
  await Promise.all([worker.start(), asking.start()])
  await Promise.all(Array.from({ length: jobs }, (_, n) => asking.enqueueAndWait(`j${n}`, n)))
  await asking.enqueue('later', 0, { delayMs: 60_000 })
  await Promise.all([worker.stop(), asking.stop()])
}

/** The resources that begin from now until `end`, as long as they have not ended. */
function recordResources(): { left(): string[]; end(): void; disable(): void } {
  const open = new Map<number, string>()
  let isOpen = true
  const hook = createHook({
    init: (id, kind) => void (isOpen && kinds.test(kind) && open.set(id, kind)),
    destroy: (id) => void open.delete(id),
  }).enable()
  return {
    left: () => [...open.values()],
    end: () => void (isOpen = false),
    disable: () => void hook.disable(),
  }
}

function listenersOfProcess(): Record<string, number> {
  return Object.fromEntries(process.eventNames().map((name) => [String(name), process.listenerCount(name)]))
}
