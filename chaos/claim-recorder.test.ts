// The recorder knows the runs of jobs that are handed over: they come with a hint, not with the answer of a claim. And it notes which
// heartbeats got no answer for the engine: only their lines may be stored twice.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryStorage, type Storage } from 'holdfast'
import { type ClaimedJob, handedWorker, type Signal } from 'holdfast/storage'
import { sleep } from './child.ts'
import { ClaimRecorder } from './claim-recorder.ts'
import type { Note } from './entries.ts'
import { typeOf } from './jobs.ts'
import { plant } from './plant.ts'

const type = typeOf('kept')

/** A recorder around a storage whose hints the test sends, after a claim that offered a slot. */
async function recording(wrap: (storage: Storage) => Storage = (storage) => storage) {
  const notes: Note[] = []
  const memory = new MemoryStorage()
  let send: ((signal: Signal) => void) | undefined
  memory.listen = async (_, onSignal) => {
    send = onSignal
    return async () => {}
  }
  const recorder = new ClaimRecorder({ write: (note: Note) => void notes.push(note) })
  const storage = recorder.wrap(wrap(memory))
  await storage.connect()
  const heard: string[] = []
  // The engine starts the job within this call.
  const onSignal = ({ handed }: Signal): void => void heard.push(recorder.claimOf(handed!.id)?.fence)
  await storage.listen([{ kind: 'wake', type }], onSignal)
  await storage.claim({ worker: 'w/1', slots: 1, types: [{ type, leaseMs: 10_000 }], offer: { by: 'w', slots: 1 } })
  const hand = (worker: string, startedAt: number, attempt = 1): void => {
    const job = { type, id: 'a', worker, attempt, runAt: 5, startedAt } as ClaimedJob
    send!({ kind: 'wake', type, handed: job })
  }
  return { hand, heard, recorder, runs: () => notes.flatMap((note) => (note.what === 'claimed' ? [note] : [])) }
}

test('a job that is handed over is recorded before it starts, with the fence of the hint', async () => {
  const { hand, heard, runs } = await recording()
  hand(handedWorker('w/1', 7), 10)
  assert.deepEqual(heard, ['w/1/7+ahead#1'])
  const [claimed] = runs()
  assert.deepEqual(claimed!.runs, [{ id: 'a', fence: 'w/1/7+ahead#1' }])
  assert.deepEqual([claimed!.type, claimed!.handed, claimed!.leaseUntil], ['kept', true, claimed!.sentAt + 1_000])
})

test('a job that is handed over to another worker is not', async () => {
  const { hand, heard, runs } = await recording()
  hand(handedWorker('other/1', 7), 10)
  assert.deepEqual([heard, runs()], [[undefined], []])
})

test('a hint that comes late does not hide a later claim', async () => {
  const { hand, heard } = await recording()
  hand(handedWorker('w/1', 9), 20)
  hand(handedWorker('w/1', 7), 10)
  assert.deepEqual(heard, ['w/1/9+ahead#1', 'w/1/9+ahead#1'])
})

test('the planted defect: a job that was handed over to another worker is run under a fence of its own', async () => {
  const { hand, heard, runs } = await recording((storage) => plant(storage, 'handed'))
  hand(handedWorker('other/1', 7), 10)
  assert.deepEqual(heard, ['w/1/-1+ahead#1'])
  assert.equal(runs().length, 1)
})

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
