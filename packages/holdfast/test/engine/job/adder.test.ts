import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HoldfastError, MemoryStorage, Queue, StorageError } from 'holdfast'
import { type AddVerdict, type NewJob } from 'holdfast/storage'
import { Adder, asIs, type Draft } from '../../../src/engine/job/adder.ts'
import { engineDefaults } from '../../../src/engine/defaults.ts'
import { faulty } from '../../queue/faulty-storage.ts'

const retention = { completedMs: 1_000, failedMs: 1_000, cancelledMs: 1_000 }
const job = (id: string): Draft => ({ type: 'default', id, token: undefined, retention })
const jobs = (count: number): Draft[] => Array.from({ length: count }, (_, index) => job(`j${index}`))
const added = ({ type, id, token }: NewJob): AddVerdict => ({
  verdict: 'added',
  job: { type, id, token, state: 'queued' },
})

const idOf = (verdict: AddVerdict): string => ('job' in verdict ? verdict.job.id : verdict.verdict)
const refuse = (verdict: AddVerdict): never => {
  throw new Error(`refused ${idOf(verdict)}`)
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** An adder whose calls are answered by hand. */
function byHand(most?: number) {
  const calls: { readonly batch: readonly NewJob[]; answer(): void; fail(error: unknown): void }[] = []
  const adder = new Adder(
    'test',
    (batch) => {
      const { promise, resolve, reject } = Promise.withResolvers<AddVerdict[]>()
      calls.push({ batch, answer: () => resolve(batch.map(added)), fail: reject })
      return promise
    },
    most,
  )
  return { adder, calls }
}

test('the enqueues of one tick are one add', async (t) => {
  const faults = faulty(new MemoryStorage())
  const queue = new Queue<number>({ storage: faults.storage })
  t.after(() => queue.stop())
  await queue.start()
  const results = await Promise.all(Array.from({ length: 100 }, (_, n) => queue.enqueue(`j${n}`, n)))
  assert.equal(faults.count('add'), 1)
  for (const result of results) assert.deepEqual(result, { status: 'queued' })
})

test('the enqueueAndWait calls of one tick are one add too', async (t) => {
  const faults = faulty(new MemoryStorage())
  const queue = new Queue<number, number>({ storage: faults.storage, concurrency: 50 })
  t.after(() => queue.stop())
  queue.execute(({ payload }) => payload)
  await queue.start()
  await queue.enqueueAndWait('first', 0)
  const before = faults.count('add')
  await Promise.all(Array.from({ length: 50 }, (_, n) => queue.enqueueAndWait(`j${n}`, n)))
  assert.equal(faults.count('add') - before, 1)
})

test('each call has its own verdict, in the order of the calls', async () => {
  const seen: string[][] = []
  const adder = new Adder('test', async (batch) => {
    seen.push(batch.map(({ id }) => id))
    return batch.map((item, index) =>
      index % 2 === 0 ? added(item) : { verdict: 'duplicate', by: 'id', job: { ...item, state: 'queued' } },
    )
  })
  const verdicts = await Promise.all(jobs(4).map((item) => adder.add(item, asIs)))
  assert.deepEqual(seen, [['j0', 'j1', 'j2', 'j3']])
  assert.deepEqual(
    verdicts.map(({ verdict }) => verdict),
    ['added', 'duplicate', 'added', 'duplicate'],
  )
})

test('each call has the answer it asked for, whatever others of its batch ask for, also where some of them throw', async () => {
  const { adder, calls } = byHand()
  const waits = jobs(60).map((draft, n) => adder.add<unknown>(draft, [idOf, idOf, refuse, asIs, refuse, idOf][n % 6]!))
  await turn()
  calls[0]!.answer()
  for (const [n, end] of (await Promise.allSettled(waits)).entries()) {
    if (n % 6 === 2 || n % 6 === 4) {
      assert.ok(end.status === 'rejected' && (end.reason as Error).message === `refused j${n}`)
    } else {
      assert.ok(end.status === 'fulfilled')
      if (n % 6 === 3) assert.equal(idOf(end.value as AddVerdict), `j${n}`)
      else assert.equal(end.value, `j${n}`)
    }
  }
  assert.equal(calls.length, 1)
})

test('a batch is bounded; the rest follows at once, in order', async () => {
  const { adder, calls } = byHand()
  const all = Promise.all(jobs(2 * engineDefaults.batch + 1).map((item) => adder.add(item, asIs)))
  await turn()
  assert.deepEqual(
    calls.map(({ batch }) => batch.length),
    [engineDefaults.batch, engineDefaults.batch, 1],
  )
  assert.equal(calls[1]!.batch[0]!.id, `j${engineDefaults.batch}`)
  for (const call of calls) call.answer()
  await all
})

test('while enough adds are in flight, further calls gather for the next', async () => {
  const { adder, calls } = byHand()
  const all: Promise<AddVerdict>[] = []
  for (let round = 0; round < 10; round++) {
    all.push(adder.add(job(`a${round}`), asIs), adder.add(job(`b${round}`), asIs))
    await turn()
  }
  assert.equal(calls.length, engineDefaults.addsInFlight)
  calls[0]!.answer()
  await turn()
  assert.equal(calls.length, engineDefaults.addsInFlight + 1)
  assert.equal(calls.at(-1)!.batch.length, 2 * (10 - engineDefaults.addsInFlight))
  for (const call of calls) call.answer()
  await Promise.all(all)
})

test('where calls are small, a full one leaves before the tick ends, beside as many as have the jobs of a large one', async () => {
  const most = 50
  const { adder, calls } = byHand(most)
  const inFlight = engineDefaults.batch / most
  assert.ok(inFlight > engineDefaults.addsInFlight)
  const items = jobs(engineDefaults.batch + most + 1)
  const all = Promise.all(items.map((item) => adder.add(item, asIs)))
  assert.equal(calls.length, inFlight)
  await turn()
  assert.equal(calls.length, inFlight)
  // What waits: a full call, and a job that others may join.
  for (let answered = 0; calls.length > answered && answered < items.length; answered++) {
    calls[answered]!.answer()
    await turn()
    if (answered === 0) assert.equal(calls.length, inFlight + 1)
    if (answered < inFlight - engineDefaults.addsInFlight) assert.equal(calls.length, inFlight + 1)
  }
  assert.deepEqual(
    (await all).map(idOf),
    items.map(({ id }) => id),
  )
  assert.deepEqual(
    calls.at(-1)!.batch.map(({ id }) => id),
    [items.at(-1)!.id],
  )
})

test('a job that the storage cannot store fails alone', async () => {
  const unsupported = new HoldfastError('FEATURE_UNSUPPORTED', 'not this one')
  const adder = new Adder('test', async (batch) => {
    if (batch.some(({ id }) => id === 'j3')) throw unsupported
    return batch.map(added)
  })
  const results = await Promise.allSettled(jobs(6).map((item) => adder.add(item, asIs)))
  results.forEach((result, index) => {
    assert.equal(result.status, index === 3 ? 'rejected' : 'fulfilled')
    if (result.status === 'rejected') assert.equal(result.reason, unsupported)
  })
})

for (const [how, error, calls] of [
  ['does not answer', new StorageError('unavailable', { maybeApplied: true }), 1],
  ['is busy', new StorageError('busy', { maybeApplied: false, cause: { transient: true } }), 1],
  ['is closed', new HoldfastError('STORAGE_CLOSED', 'closed'), 1],
  ['belongs to a stopped queue', new HoldfastError('QUEUE_STOPPED', 'stopped'), 1],
  ['fails', new StorageError('no', { maybeApplied: false, cause: new Error('no') }), 21],
  ['fails, and not transiently', new StorageError('no', { maybeApplied: false, cause: { transient: false } }), 21],
] as const) {
  test(`a storage that ${how} fails every call, and is called ${calls === 1 ? 'once' : 'for each'}`, async () => {
    let adds = 0
    const adder = new Adder('test', async () => {
      adds++
      throw error
    })
    const results = await Promise.allSettled(jobs(20).map((item) => adder.add(item, asIs)))
    assert.equal(adds, calls)
    for (const result of results) assert.equal(result.status === 'rejected' && result.reason, error)
  })
}

test('it goes on after a failure', async () => {
  const { adder, calls } = byHand()
  const first = Promise.allSettled(jobs(8).map((item) => adder.add(item, asIs)))
  await turn()
  calls[0]!.fail(new StorageError('unavailable', { maybeApplied: true }))
  await first
  const second = adder.add(job('next'), asIs)
  await turn()
  calls[1]!.answer()
  assert.equal((await second).verdict, 'added')
})

test('a job with a token of its own keeps it in a batch', async () => {
  const { adder, calls } = byHand()
  const all = [job('a'), { ...job('b'), token: 'own' }, job('c')].map((each) => adder.add(each, asIs))
  await turn()
  const [call] = calls
  call!.answer()
  await Promise.all(all)
  const [a, b, c] = call!.batch
  assert.equal(b!.token, 'own')
  assert.equal(a!.token, c!.token)
  assert.notEqual(a!.token, 'own')
})
