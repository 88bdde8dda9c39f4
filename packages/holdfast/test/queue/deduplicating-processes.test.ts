// Adders in several processes under one key, in each mode; on each driver that processes can share.

import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { type EnqueueResult, Queue } from 'holdfast'
import { sized } from '../full-size.ts'
import { startChild } from '../processes/child.ts'
import { processDrivers, type ProcessDriver, stopServers } from '../processes/drivers.ts'
import { gate, until } from './driver.ts'

after(stopServers)

interface Told {
  readonly key: string
  readonly id: string
  readonly version: number
  readonly answer: EnqueueResult<string>
}

const processes = sized(4, 2)
/** Each process has 25. */
const adders = processes * 25

const file = new URL('fixtures/deduplicate.ts', import.meta.url)

async function bench(t: TestContext, driver: ProcessDriver) {
  const place = await driver.open()
  const queue = new Queue<string, string>({ storage: place.storage(), concurrency: 10 })
  t.after(async () => {
    await queue.stop({ timeout: 0 })
    await place.close()
  })
  return { place, queue }
}

/** One call was queued; all others were answered with its job. @returns the id of that job */
function assertOneJob(told: readonly Told[], others: 'duplicate' | 'replaced'): string {
  assert.equal(told.length, adders)
  const added = told.filter(({ answer }) => answer.status === 'queued')
  assert.equal(added.length, 1)
  for (const { answer } of told) {
    if (answer.status !== 'queued') assert.equal(answer.status === others && answer.id, added[0]!.id)
  }
  return added[0]!.id
}

for (const name of ['sqlite', 'file', 'redis', 'postgres'] as const) {
  test(`[F25] [S11] ${adders} adders in ${processes} processes, each mode, on ${name}`, async (t) => {
    const { place, queue } = await bench(t, processDrivers[name])
    const [started, release] = [gate<void>(), gate<void>()]
    const ran: string[] = []
    queue.execute(async ({ id, payload }) => {
      ran.push(id)
      // One that is live keeps its key, in mode `simple`.
      if (id.startsWith('simple')) await release.promise
      if (id !== 'holder') return payload
      started.resolve()
      await release.promise
      return payload
    })
    await queue.enqueue('holder', 'holder', { deduplication: { key: 'followUp', mode: 'followUp' } })
    await queue.start()
    await started.promise

    const children = await Promise.all(
      Array.from({ length: processes }, (_, n) => startChild(file, t, place, 'adders', n + 1, processes)),
    )
    for (const child of children) await child.hears((line) => line === 'ready', 'the child is ready')
    for (const child of children) child.send()
    await Promise.all(children.map(({ exited }) => exited))
    const told = children.flatMap(({ said }) => said.filter((line) => line !== 'ready') as Told[])
    const of = (key: string): Told[] => told.filter((one) => one.key === key)

    const once = assertOneJob(of('simple'), 'duplicate')
    const throttled = assertOneJob(of('throttle'), 'duplicate')
    const debounced = await queue.get(assertOneJob(of('debounce'), 'replaced'))
    assert.equal(debounced?.state, 'scheduled')
    // The payload is that of a call which replaced it: the first one is gone.
    assert.notEqual(debounced.payload, debounced.id)

    const follower = assertOneJob(of('followUp'), 'replaced')
    assert.deepEqual([(await queue.get(follower))?.state, ran.includes(follower)], ['blocked', false])
    release.resolve()
    await until(async () => (await queue.getStatus(follower))?.state === 'completed', 'the follower has run')
    assert.equal(ran.filter((id) => id.startsWith('followUp')).length, 1)
    await until(async () => (await queue.getStatus(once))?.state === 'completed', 'the job of mode simple has run')
    await until(async () => (await queue.getStatus(throttled))?.state === 'completed', 'the throttled job has run')
    assert.deepEqual(
      ran.filter((id) => id.startsWith('simple') || id.startsWith('throttle')).toSorted(),
      [once, throttled].toSorted(),
    )

    const versions = of('ascending')
    assert.equal(versions.length, adders)
    for (const { version, answer } of versions) {
      assert.ok(answer.status === 'queued' || (answer.status === 'stale' && answer.version >= version), String(version))
    }
    assert.equal(versions.find(({ version }) => version === adders)?.answer.status, 'queued')
    const last = await queue.enqueue('late', '', {
      deduplication: { key: 'ascending', mode: 'ascending', version: adders },
    })
    assert.deepEqual(last, { status: 'stale', version: adders })
  })
}
