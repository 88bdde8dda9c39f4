import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { test, type TestContext } from 'node:test'
import { HoldfastError, isHoldfastError, MemoryStorage, type Storage, StorageError } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { systemClock } from '../../src/clock.ts'
import { invalidArgument } from '../../src/errors.ts'
import type { EngineEvent } from '../../src/engine/events.ts'
import { guardStorage } from '../../src/engine/guard.ts'
import { failing, faulty, type Rule, stumbling } from '../queue/faulty-storage.ts'

const subscriber = (): void => {}

/** Calls are published only while the channel has a subscriber. */
function watch(t: TestContext): void {
  subscribe('holdfast', subscriber)
  t.after(() => unsubscribe('holdfast', subscriber))
}

function guarded(callTimeoutMs = 5_000) {
  const clock = fakeClock()
  const line = faulty<Storage>(new MemoryStorage({ clock, callTimeoutMs }))
  const events: EngineEvent[] = []
  return { clock, line, events, storage: guardStorage(line.storage, clock, (event) => void events.push(event)) }
}

const ref = { type: 'default', id: 'a' }
const job = { ...ref, token: 't', retention: { completedMs: 1_000, failedMs: 1_000, cancelledMs: 1_000 } }
const request = { worker: 'w', slots: 1, types: [{ type: 'default', leaseMs: 1_000 }] }

const lateBy = (clock: { after(ms: number, callback: () => void): unknown }, ms: number): Rule => {
  return async (apply) => {
    await new Promise<void>((resolve) => void clock.after(ms, resolve))
    return apply()
  }
}

test('a call that is not answered ends in a StorageError after callTimeoutMs', async () => {
  for (const [verb, call, maybeApplied] of [
    ['add', (storage: Storage) => storage.add([job]), true],
    ['settle', (storage: Storage) => storage.settle([]), true],
    ['claim', (storage: Storage) => storage.claim(request), true],
    ['get', (storage: Storage) => storage.get([ref]), false],
    ['nextDueAt', (storage: Storage) => storage.nextDueAt([]), false],
    ['connect', (storage: Storage) => storage.connect(), false],
    ['listen', (storage: Storage) => storage.listen([], () => {}), false],
    ['kv.cas', (storage: Storage) => storage.kv.cas(['k'], undefined, undefined), true],
    ['kv.get', (storage: Storage) => storage.kv.get(['k']), false],
  ] as const) {
    const { clock, line, storage } = guarded(3_000)
    line.cut()
    const errors: unknown[] = []
    call(storage as unknown as Storage).catch((error: unknown) => errors.push(error))
    await clock.advance(2_999)
    assert.equal(errors.length, 0, verb)
    await clock.advance(1)
    const [error] = errors
    assert.ok(error instanceof StorageError, verb)
    assert.equal(error.maybeApplied, maybeApplied, verb)
    assert.match(error.message, /3000 ms/)
    assert.equal(clock.pending, 0)
  }
})

test('an answered call leaves no timer', async () => {
  const { clock, storage } = guarded()
  await storage.add([job])
  await assert.rejects(storage.add([{ ...job, priority: 1_000 }]))
  assert.equal(clock.pending, 0)
})

test('a call that is answered when it returns gets no limit in time, and its promise as it is', async () => {
  const clock = fakeClock()
  let limits = 0
  const counting = { ...clock, endOfTick: (callback: () => void) => void (limits++, queueMicrotask(callback)) }
  const memory = new MemoryStorage({ clock })
  const promises: unknown[] = []
  const add: Storage['add'] = (jobs) => {
    const promise = memory.add(jobs)
    promises.push(promise)
    return promise
  }
  const storage = guardStorage(Object.create(memory, { add: { value: add } }) as typeof memory, counting, () => {})
  const added = storage.add([job])
  assert.equal(added, promises[0])
  assert.equal((await added)[0]!.verdict, 'added')
  assert.equal(limits, 0)

  // A wrapper that awaits the answer has a promise like that of any storage: its calls are bound.
  const late: Storage['add'] = async (jobs) => await memory.add(jobs)
  const wrapped = guardStorage(Object.create(memory, { add: { value: late } }) as typeof memory, counting, () => {})
  assert.equal((await wrapped.add([job]))[0]!.verdict, 'added')
  assert.equal(limits, 1)
})

test('a loop of calls that are answered when they return lets timers fire', async () => {
  const storage = guardStorage(new MemoryStorage(), systemClock, () => {})
  const passed = { timers: 0 }
  setTimeout(() => passed.timers++, 1)
  while (passed.timers === 0) await storage.add([job])
})

test('a storage whose method throws, instead of rejecting, is a storage that failed', async () => {
  const clock = fakeClock()
  const memory = new MemoryStorage({ clock })
  Object.defineProperty(memory, 'get', {
    value: () => {
      throw new Error('at once')
    },
  })
  const storage = guardStorage(memory, clock, () => {})
  await assert.rejects(storage.get([ref]), { name: 'StorageError', message: /at once/ })
  assert.equal(clock.pending, 0)
})

test('what is transient is repeated with growing pauses, within the same time', async (t) => {
  watch(t)
  const { clock, line, storage, events } = guarded()
  line.on('add', stumbling(3, 'before'))
  const added = storage.add([job])
  await clock.advance(1_000)
  assert.equal((await added)[0]!.verdict, 'added')
  assert.equal(line.count('add'), 4)
  const calls = events.filter((event) => event.name === 'storage_call')
  assert.deepEqual(
    calls.map(({ verb, ok }) => [verb, ok]),
    [['add', true]],
  )
})

test('an add that was applied and lost its answer is repeated as the same', async () => {
  const { clock, line, storage } = guarded()
  line.on('add', stumbling(2, 'after'))
  const added = storage.add([job])
  await clock.advance(1_000)
  assert.equal((await added)[0]!.verdict, 'added')
})

test('what stays transient ends with the time, and says that it may have been applied', async () => {
  const { clock, line, storage } = guarded(2_000)
  line.on('add', stumbling(Infinity, 'before'))
  const added = assert.rejects(storage.add([job]), { code: 'STORAGE_ERROR', maybeApplied: true })
  await clock.advance(2_000)
  await added
  const tries = line.count('add')
  assert.ok(tries > 3 && tries < 20, `${tries} tries`)
  await clock.advance(10_000)
  assert.equal(line.count('add'), tries)
})

test('if any of the tries may have been applied, the error says so', async () => {
  const { clock, line, storage } = guarded(2_000)
  line.on('add', async (apply, { number }) => {
    if (number === 1) await apply()
    throw Object.assign(new Error('no line'), { transient: true, maybeApplied: number === 1 })
  })
  const added = assert.rejects(storage.add([job]), { code: 'STORAGE_ERROR', maybeApplied: true })
  await clock.advance(2_000)
  await added
})

test('… also when the driver worded its errors itself', async () => {
  const { clock, line, storage } = guarded(2_000)
  line.on('add', async (apply, { number }) => {
    if (number === 1) await apply()
    throw new StorageError('no line', { transient: true, maybeApplied: number === 1 })
  })
  const added = assert.rejects(storage.add([job]), { message: 'no line', maybeApplied: true })
  await clock.advance(2_000)
  await added
})

test('… and the error keeps the reason of the last try', async () => {
  const { clock, line, storage } = guarded(2_000)
  line.on('get', (_, { number }) =>
    number === 1
      ? Promise.reject(Object.assign(new Error('no line'), { transient: true, maybeApplied: true }))
      : new Promise(() => {}),
  )
  const read = assert.rejects(storage.get([]), { code: 'STORAGE_ERROR', maybeApplied: true, reason: 'timeout' })
  await clock.advance(2_000)
  await read
})

test('a claim is never repeated: it would be another claim', async () => {
  const { line, storage } = guarded()
  line.on('claim', stumbling(1, 'after'))
  await assert.rejects(storage.claim(request), { code: 'STORAGE_ERROR', maybeApplied: true })
  assert.equal(line.count('claim'), 1)
})

test('what is not transient is not repeated', async () => {
  const { line, storage } = guarded()
  line.on('get', failing(1))
  await assert.rejects(storage.get([ref]), (error: unknown) => {
    assert.ok(error instanceof StorageError)
    assert.equal(error.maybeApplied, false)
    assert.equal((error.cause as Error).message, 'call 1 of get broke')
    assert.match(error.message, /get/)
    return true
  })
  assert.equal(line.count('get'), 1)
})

test('a driver may say better whether it was applied', async () => {
  const { line, storage } = guarded()
  line.on('add', async () => {
    throw Object.assign(new Error('refused'), { maybeApplied: false })
  })
  await assert.rejects(storage.add([job]), { code: 'STORAGE_ERROR', maybeApplied: false })
})

test('errors of our own, and of bad arguments, come as they are', async () => {
  const { line, storage } = guarded()
  for (const own of [
    new HoldfastError('STORAGE_CLOSED', 'closed'),
    new HoldfastError('FEATURE_UNSUPPORTED', 'no'),
    invalidArgument('limit', 'a number', 'x'),
  ]) {
    line.on('add', () => Promise.reject(own))
    await assert.rejects(storage.add([job]), (error) => error === own)
  }
})

test('whatever a driver rejects with becomes a StorageError', async () => {
  for (const thrown of ['text', undefined, null, 5, Symbol('s'), { message: 'm' }, Object.create(null)]) {
    const { line, storage } = guarded()
    line.on('get', () => Promise.reject(thrown as Error))
    await assert.rejects(storage.get([ref]), (error) => isHoldfastError(error, 'STORAGE_ERROR'))
  }
})

test('a connection or subscription that comes after its time is given back', async () => {
  const { clock, line, storage } = guarded(1_000)
  line.on('connect', lateBy(clock, 3_000))
  line.on('listen', lateBy(clock, 3_000))
  const failed = Promise.all([
    assert.rejects(storage.connect(), { code: 'STORAGE_ERROR' }),
    assert.rejects(
      storage.listen([{ kind: 'wake', type: 'default' }], () => {}),
      { code: 'STORAGE_ERROR' },
    ),
  ])
  await clock.advance(1_000)
  await failed
  await clock.advance(2_000)
  assert.equal(line.connections, 0)
  assert.equal(line.count('unlisten'), 1)
})

test('jobs of a claim that is answered after its time are released: no worker would run them', async () => {
  const { clock, line, storage } = guarded(1_000)
  await storage.add([job])
  const answered = Promise.withResolvers<void>()
  line.on('claim', async (apply) => {
    const claim = await apply()
    await answered.promise
    return claim
  })
  const long = { ...request, types: [{ type: 'default', leaseMs: 30_000 }] }
  const failed = assert.rejects(storage.claim(long), { code: 'STORAGE_ERROR', maybeApplied: true })
  await clock.advance(1_000)
  await failed
  assert.equal((await storage.get([ref]))[0]!.state, 'processing')
  answered.resolve()
  await clock.settle()
  const [record] = await storage.get([ref])
  assert.deepEqual([record!.state, record!.failures], ['queued', 0])
  assert.equal(clock.pending, 0)
})

test('a claim that is answered after its time and found no job is followed by no call', async () => {
  const { clock, line, storage } = guarded(1_000)
  line.on('claim', lateBy(clock, 3_000))
  const failed = assert.rejects(storage.claim(request), { code: 'STORAGE_ERROR' })
  await clock.advance(1_000)
  await failed
  await clock.advance(2_000)
  assert.deepEqual(
    line.calls.map(({ verb }) => verb),
    ['claim'],
  )
})

test('endRepeats() ends the repeats of a worker’s calls under way, and of no others', async () => {
  for (const [verb, call, repeats] of [
    ['settle', (storage: Storage) => storage.settle([]), false],
    ['extend', (storage: Storage) => storage.extend([]), false],
    ['nextDueAt', (storage: Storage) => storage.nextDueAt([]), false],
    ['sweep', (storage: Storage) => storage.sweep({ limit: 1 }), false],
    ['add', (storage: Storage) => storage.add([job]), true],
    ['get', (storage: Storage) => storage.get([ref]), false],
    ['cancel', (storage: Storage) => storage.cancel([ref]), true],
  ] as const) {
    const { clock, line, storage } = guarded()
    line.on(verb, stumbling(1, 'before'))
    const called = call(storage as unknown as Storage).then(
      () => true,
      () => false,
    )
    await clock.settle()
    storage.endRepeats()
    await clock.advance(1_000)
    assert.deepEqual([await called, line.count(verb)], repeats ? [true, 2] : [false, 1], verb)
    // Calls that begin later are repeated again.
    line.on(verb, stumbling(line.count(verb) + 1, 'before'))
    const later = call(storage as unknown as Storage)
    await clock.advance(1_000)
    await later
  }
})

test('every call is told of, with its time, while the channel has a subscriber', async (t) => {
  const { clock, line, storage, events } = guarded()
  line.on('get', lateBy(clock, 30))
  const get = async (): Promise<void> => {
    const got = storage.get([ref])
    await clock.advance(30)
    await got
  }
  await get()
  assert.deepEqual(events, [])
  watch(t)
  await get()
  assert.deepEqual(events, [{ name: 'storage_call', driver: 'memory', verb: 'get', ok: true, ms: 30 }])
})

for (const [what, call] of [
  ['read', (storage) => storage.get([ref])],
  ['add', (storage) => storage.add([job])],
] as [string, (storage: ReturnType<typeof guarded>['storage']) => Promise<unknown>][]) {
  test(`of many calls to ${what} that follow each other, one in 32 waits for a turn of the event loop`, async () => {
    const { storage } = guarded()
    let turns = 0
    const count = (): void => {
      turns++
      immediate = setImmediate(count)
    }
    let immediate = setImmediate(count)
    for (let calls = 0; calls < 20; calls++) await call(storage)
    assert.equal(turns, 0)
    for (let calls = 0; calls < 320; calls++) await call(storage)
    clearImmediate(immediate)
    assert.ok(turns >= 10 && turns <= 11, `${turns} turns`)
  })
}
