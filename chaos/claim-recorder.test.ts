// The recorder notes which heartbeats got no answer for the engine: only their lines may be stored twice.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryStorage } from 'holdfast'
import { sleep } from './child.ts'
import { ClaimRecorder } from './claim-recorder.ts'
import type { Note } from './entries.ts'
import { typeOf } from './jobs.ts'

/** The runs whose lines are noted as unanswered. @param answerMs after which a heartbeat is answered. Undefined: it fails */
async function unansweredAfter(answerMs: number | undefined, callTimeoutMs: number): Promise<string[]> {
  const notes: Note[] = []
  const memory = new MemoryStorage()
  Object.assign(memory.settings, { callTimeoutMs })
  memory.extend = async () => {
    if (answerMs === undefined) throw new Error('cut off')
    await sleep(answerMs)
    return [{ verdict: 'extended', until: 0 }]
  }
  const storage = new ClaimRecorder({ write: (note: Note) => void notes.push(note) }).wrap(memory)
  const line = { at: 0, line: new Uint8Array() }
  const lease = { type: typeOf('kept'), id: 'a', worker: 'w/1', attempt: 1, leaseMs: 1_000, log: [line] }
  await storage.extend([lease]).catch(() => {})
  return notes.flatMap((note) => (note.what === 'reportUnanswered' ? [note.fence] : []))
}

test('a heartbeat that is answered in time is not noted', async () => {
  assert.deepEqual(await unansweredAfter(0, 600_000), [])
})

test('a heartbeat that fails is noted', async () => {
  assert.deepEqual(await unansweredAfter(undefined, 600_000), ['w/1#1'])
})

test('a heartbeat that is answered after the time of its call is noted: the engine sends its lines again', async () => {
  assert.deepEqual(await unansweredAfter(60, 50), ['w/1#1'])
})
