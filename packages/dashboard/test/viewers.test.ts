// What viewers cost the storage: 50 of them as much as one, by the calls that reach it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { MemoryStorage, Queue, type Storage } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { type Calls, counting } from './calls.ts'
import { open } from './client.ts'

/** Two pages that people leave open: the overview, and a list with a job beside it. */
const pages = [
  ['summary', 'overview', 'history?range=1h', 'findings'],
  ['summary', 'jobs?q=state%3Afailed', 'job?face=queue&name=mail&id=a', 'types'],
  ['summary', 'workers', 'limits', 'schedules'],
]

/** Calls in 60 s of that many viewers of each page. */
async function costOf(viewers: number): Promise<Calls> {
  const clock = fakeClock()
  const memory = new MemoryStorage({ clock })
  const mail = new Queue<string>({ storage: memory, name: 'mail', clock })
  await mail.enqueue('a', 'x')
  const calls: Calls = new Map()
  const { client } = open({ storage: counting(memory as Storage, calls), clock })
  const gone = new AbortController()
  const streams = Array.from({ length: viewers }, () =>
    pages.map(async (views) => {
      const query = views.map((of) => `of=${encodeURIComponent(of)}`).join('&')
      const request = new Request(`http://jobs.example/api/stream?${query}`, { signal: gone.signal })
      const { body } = await client.dashboard(request)
      const chunks: unknown[] = []
      for await (const chunk of body!) chunks.push(chunk)
      return chunks.length
    }),
  ).flat()
  for (let second = 0; second < 60; second++) await clock.advance(1_000)
  gone.abort()
  const events = await Promise.all(streams)
  assert.ok(
    events.every((count) => count >= 3 && count <= 4 * 61),
    `every viewer is served, at most once per view and second: ${Math.min(...events)} … ${Math.max(...events)}`,
  )
  await client.dashboard.close()
  const stopped = mail.stop()
  await clock.advance(1)
  await stopped
  return calls
}

test('[F43] 50 viewers of every page cost the storage what one costs', { timeout: 300_000 }, async () => {
  const one = await costOf(1)
  const fifty = await costOf(50)
  assert.ok(one.get('count')! > 0)
  assert.deepEqual(
    [...fifty].toSorted(([a], [b]) => (a < b ? -1 : 1)),
    [...one].toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )
})

test('[F43] a stream ends with its viewer, also if nothing references the request', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const clock = fakeClock()
  const { client } = open({ storage: new MemoryStorage({ clock }), clock })
  const gone = new AbortController()
  const ask = async (): Promise<ReadableStreamDefaultReader<Uint8Array>> => {
    const request = new Request('http://jobs.example/api/stream?of=summary', { signal: gone.signal })
    return (await client.dashboard(request)).body!.getReader()
  }
  const reader = await ask()
  await clock.advance(1)
  await reader.read()
  // A signal whose request was collected never aborts.
  collectGarbage()
  await clock.advance(1)
  gone.abort()
  const { done } = await reader.read()
  assert.equal(done, true)
  await client.dashboard.close()
})
