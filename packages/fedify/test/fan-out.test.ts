// An activity to many inboxes: more than one move of the storage, delivered to each inbox once.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Create, Note } from '@fedify/vocab'
import { isUsual, sized } from '../../holdfast/test/full-size.ts'
import { processDrivers, stopServers } from '../../holdfast/test/processes/drivers.ts'
import { until } from '../../holdfast/test/queue/driver.ts'
import { startServer } from '../example/server.ts'
import { keysOf } from './keys.ts'

after(stopServers)

for (const driver of Object.values(processDrivers)) {
  if (!isUsual(driver.name)) continue
  // Fedify takes milliseconds of CPU for each delivery: by default one driver has more than one move. The moves themselves are
  // tested in large-batches.ts of the tasks.
  const inboxes = sized(25_000, driver.name === 'memory' ? 1_050 : 100)
  const timeout = sized(1_800_000, 120_000)
  test(`sendActivity to ${inboxes} inboxes on ${driver.name} reaches each of them once`, { timeout }, async (t) => {
    const place = await driver.open()
    const storage = place.storage()
    const a = await startServer(storage, 'a', { concurrency: 50 }, keysOf)
    const b = await startServer(storage, 'b', {}, keysOf)
    const stop = new AbortController()
    const posts = new Map<string, number>()
    let count = 0
    b.filter = (request, response) => {
      posts.set(request.url!, (posts.get(request.url!) ?? 0) + 1)
      count++
      response.writeHead(202).end()
      return false
    }
    const context = a.federation.createContext(new URL(a.origin))
    const actor = context.getActorUri('alice')
    const recipients = Array.from({ length: inboxes }, (_, number) => ({
      id: new URL(`/users/${number}`, b.origin),
      inboxId: new URL(`/users/${number}/inbox`, b.origin),
    }))
    const object = new Note({ id: new URL('/notes/1', a.origin), attribution: actor, content: 'Hello' })
    const activity = new Create({ id: new URL('/create', a.origin), actor, object })
    await context.sendActivity({ identifier: 'alice' }, recipients, activity)
    const working = a.federation.startQueue(undefined, { signal: stop.signal })
    t.after(async () => {
      stop.abort()
      await working
      await Promise.all([a.close(), b.close()])
      await place.close()
    })
    await until(() => count >= inboxes, 'every inbox is reached', timeout)
    await until(
      async () => {
        const { states, due, delayed } = await a.queue.counts()
        return due + delayed + states.processing === 0
      },
      'no message is left',
      60_000,
    )
    assert.deepEqual([posts.size, count], [inboxes, inboxes])
    assert.equal((await a.queue.counts()).states.failed, 0)
  })
}
