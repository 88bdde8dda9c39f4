// A storage that counts slowly: no request for the overview waits for it, and viewers share one count per 5 s.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MemoryStorage, type Storage } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import type { Answer, HistoryPage, Overview } from '../src/shared/api.ts'
import { type Calls, counting } from './calls.ts'
import { open } from './client.ts'

const countTakesMs = 200

async function slowDashboard() {
  const clock = fakeClock()
  const memory = new MemoryStorage({ clock })
  await memory.add([
    { type: 'queue.mail', id: 'a', token: 'a', retention: { completedMs: 0, failedMs: 0, cancelledMs: 0 } },
  ])
  const slow = new Proxy(memory as Storage, {
    get(target, name) {
      if (name !== 'count') return Reflect.get(target, name, target) as unknown
      return async (...args: Parameters<Storage['count']>) => {
        await new Promise<void>((resolve) => clock.after(countTakesMs, () => resolve()))
        return target.count(...args)
      }
    },
  })
  const calls: Calls = new Map()
  return { clock, calls, ...open({ storage: counting(slow, calls), clock }) }
}

describe('a storage that counts slowly', () => {
  test('[F43] the first request is answered without counts, and the stream has them once they are there', async () => {
    const { clock, calls, client } = await slowDashboard()
    const first = client.send('/api/overview')
    const history = client.send('/api/history?range=1h')
    const gone = new AbortController()
    const { body } = await client.dashboard(
      new Request('http://jobs.example/api/stream?of=overview', { signal: gone.signal }),
    )
    await clock.advance(25)
    const { costMs, countMs, data } = (await first).body as Answer<Overview>
    assert.deepEqual([costMs, countMs, data], [25, undefined, { types: [], cut: 0 }])
    assert.equal(((await history).body as Answer<HistoryPage>).data.marks.length, 0)
    const reader = body!.getReader()
    const event = reader.read()
    await clock.advance(countTakesMs - 25)
    const text = Buffer.from((await event).value!).toString()
    const sent = JSON.parse(/data: (.*)/.exec(text)![1]!) as Answer<Overview>
    assert.deepEqual([sent.countMs, sent.data.totals?.due], [countTakesMs, 1])
    assert.equal(calls.get('count'), 1)
    gone.abort()
    await client.dashboard.close()
  })

  test('[F43] later requests have the counts at once, with the time of the count, which runs once per 5 s', async () => {
    const { clock, calls, client } = await slowDashboard()
    const first = client.send('/api/overview')
    await clock.advance(countTakesMs)
    await first
    for (let second = 0; second < 60; second++) {
      const answers = await Promise.all(Array.from({ length: 20 }, () => client.send('/api/overview')))
      for (const { body } of answers) {
        const { at, costMs, countMs, data } = body as Answer<Overview>
        assert.deepEqual([costMs, countMs, data.totals?.due], [0, countTakesMs, 1])
        assert.ok(clock.now() - at <= 6_000, `${clock.now() - at} ms old`)
      }
      await clock.advance(1_000)
    }
    assert.ok(calls.get('count')! <= 13, `${calls.get('count')} counts in 60 s`)
    await client.dashboard.close()
  })
})
