// Two Fedify servers on loopback, on the usual drivers: a signed activity arrives once; order holds through refusals; no message is
// lost when a worker is killed during a delivery.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, test, type TestContext } from 'node:test'
import type { HoldfastMessageQueueOptions } from '@holdfast/fedify'
import { programOf } from '../../../scripts/test-programs.ts'
import { isFull, isUsual } from '../../holdfast/test/full-size.ts'
import { until } from '../../holdfast/test/queue/driver.ts'
import { stopServers, type ProcessDriver, processDrivers } from '../../holdfast/test/processes/drivers.ts'
import { type Server, startServer } from '../example/server.ts'
import { keysOf } from './keys.ts'

after(stopServers)

async function bench(t: TestContext, driver: ProcessDriver, options?: HoldfastMessageQueueOptions) {
  const place = await driver.open()
  const a = await startServer(place.storage(), 'a', options, keysOf)
  const b = await startServer(place.storage(), 'b', options, keysOf)
  const stop = new AbortController()
  const working: Promise<void>[] = []
  const work = (server: Server): void =>
    void working.push(server.federation.startQueue(undefined, { signal: stop.signal }))
  t.after(async () => {
    stop.abort()
    await Promise.all(working)
    await Promise.all([a.close(), b.close()])
    await place.close()
  })
  return { place, a, b, work }
}

for (const driver of Object.values(processDrivers).filter(({ name }) => isUsual(name))) {
  test(`[E2] on ${driver.name}: a signed Create reaches the listener once, an unsigned POST gets 401`, async (t) => {
    const { a, b, work } = await bench(t, driver)
    work(a)
    work(b)
    await a.send(b, 'Create', 'create-1')
    await until(() => b.received.length > 0, 'it arrives')
    const forged = await fetch(new URL('/users/bob/inbox', b.origin), {
      method: 'POST',
      headers: { 'content-type': 'application/activity+json' },
      body: JSON.stringify({
        '@context': 'https://www.w3.org/ns/activitystreams',
        type: 'Create',
        id: `${a.origin}/forged`,
        actor: `${a.origin}/users/alice`,
        object: { type: 'Note', content: 'forged' },
      }),
    })
    assert.equal(forged.status, 401)
    await a.send(b, 'Create', 'create-2')
    await until(() => b.received.length > 1, 'the next arrives')
    assert.deepEqual(b.received, ['Create /create-1', 'Create /create-2'])
    for (const server of [a, b]) assert.equal((await server.queue.getDepth()).queued, 0)
  })

  for (const nativeRetrial of [true, false]) {
    for (const retryAfter of [undefined, '1']) {
      // Which of the two retries, and what it makes of the header, is decided above the storage.
      if (driver.name !== 'memory' && nativeRetrial !== (retryAfter === undefined) && !isFull) continue
      const how = `${nativeRetrial ? 'native' : 'not native'}, ${retryAfter ? 'with' : 'without'} Retry-After`
      test(`[E2] on ${driver.name}, ${how}: a Create that is refused stays before the Delete behind it`, async (t) => {
        const { a, b, work } = await bench(t, driver, { nativeRetrial })
        let refused = 0
        // Fedify sends each POST twice, with two signature formats: one refusal is two answers.
        b.filter = (_request, response) => {
          if (refused >= 2) return true
          refused++
          response.writeHead(503, retryAfter ? { 'retry-after': retryAfter } : {}).end()
          return false
        }
        await a.send(b, 'Create', 'create', 'note-1')
        await a.send(b, 'Delete', 'delete', 'note-1')
        work(a)
        work(b)
        await until(() => b.received.length >= 2, 'both arrive', 20_000)
        assert.deepEqual(b.received, ['Create /create', 'Delete /delete'])
        assert.equal(refused, 2)
      })
    }
  }

  if (driver.name === 'memory') continue

  test(`[E2] on ${driver.name}: no message is lost when a worker is killed during a delivery`, async (t) => {
    const { place, a, b, work } = await bench(t, driver, { leaseMs: 1_000 })
    const requested = Promise.withResolvers<void>()
    let isSilent = true
    // While it is silent, it accepts the request and does not answer.
    b.filter = () => {
      requested.resolve()
      return !isSilent
    }
    await a.send(b, 'Create', 'create')
    const file = programOf(new URL('./worker.ts', import.meta.url))
    const worker = spawn(process.execPath, ['--conditions=@holdfast/source', file, JSON.stringify(place.spec), 'a'], {
      stdio: 'inherit',
    })
    const exited = once(worker, 'exit')
    t.after(() => worker.kill('SIGKILL'))
    await requested.promise
    worker.kill('SIGKILL')
    await exited
    assert.deepEqual(b.received, [])
    isSilent = false
    work(a)
    work(b)
    await until(() => b.received.length > 0, 'it arrives')
    assert.deepEqual([...new Set(b.received)], ['Create /create'])
  })
}
