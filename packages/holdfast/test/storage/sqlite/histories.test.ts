// Random histories of the model. The tables are checked after every step. Then the same calls run again, several at once, so
// that they share a transaction; each must get the same answer as before.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SqliteStorage } from 'holdfast/sqlite'
import { testModel } from '../../../../conformance/src/index.ts'
import type { Subject } from '../../../../conformance/src/case.ts'
import { systemClock } from '../../../src/clock.ts'
import { modelSeed, sized } from '../../full-size.ts'
import { defaultType } from '../../../src/storage/stored-type.ts'
import { completed, newJob, types } from './bench.ts'
import { checkTables, inspect } from './check-tables.ts'

interface Entry {
  readonly verb: string
  readonly args: unknown[]
  readonly answer: unknown
}

const moves = new Set(['add', 'claim', 'extend', 'settle', 'recover', 'cancel', 'revive', 'remove', 'pause', 'sweep'])
const verbs = new Set([...moves, 'get', 'list', 'count', 'nextDueAt'])

const start = 1_767_225_600_000

function open(): { storage: SqliteStorage; advance(ms: number): void } {
  let now = start
  const storage = new SqliteStorage({ path: ':memory:', clock: { ...systemClock, now: () => now } })
  return { storage, advance: (ms) => void (now += ms) }
}

/** A storage that records its calls and answers. */
function recorded(check: (entries: readonly Entry[]) => Promise<void>): Subject {
  const { storage, advance } = open()
  const entries: Entry[] = []
  const proxy = new Proxy(storage, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      const call = value.bind(target) as (...args: unknown[]) => Promise<unknown>
      if (!verbs.has(String(name))) return call
      return async (...args: unknown[]) => {
        const answer = await call(...args)
        entries.push({ verb: String(name), args, answer })
        if (moves.has(String(name))) await inspect(storage, checkTables)
        return answer
      }
    },
  })
  return {
    storage: proxy,
    advance: async (ms) => {
      entries.push({ verb: 'advance', args: [ms], answer: undefined })
      advance(ms)
    },
    close: () => check(entries),
  }
}

/** Repeats the calls between two changes of the clock, up to `atOnce` at the same time. */
async function replay(entries: readonly Entry[], atOnce: number): Promise<number> {
  const { storage, advance } = open()
  await storage.connect()
  const wanted: unknown[] = []
  let answers: Promise<unknown>[] = []
  let shared = 0
  const finish = async (): Promise<void> => {
    assert.deepEqual(await Promise.all(answers), wanted)
    if (answers.length > 1) shared += answers.length
    answers = []
    wanted.length = 0
    await inspect(storage, checkTables)
  }
  for (const { verb, args, answer } of entries) {
    if (verb === 'advance' || answers.length === atOnce) await finish()
    if (verb === 'advance') {
      advance(args[0] as number)
      continue
    }
    const call = Reflect.get(storage, verb) as (...args: unknown[]) => Promise<unknown>
    answers.push(call.apply(storage, args))
    wanted.push(answer)
  }
  await finish()
  return shared
}

const histories = sized(150, 15)

test(`${histories} histories: the tables are consistent after every call, and a shared transaction changes no answer`, async (t) => {
  let shared = 0
  const { seed } = await testModel({
    runs: histories,
    ...modelSeed,
    create: () =>
      recorded(async (entries) => {
        // Key-value calls are not recorded.
        if (entries.some(({ verb, answer }) => verb === 'sweep' && (answer as { entries: number }).entries > 0)) return
        shared += await replay(entries, 7)
        // A read flushes the working set. Without reads, calls find in it what others have left.
        const writes = entries.filter(({ verb }) => verb === 'advance' || moves.has(verb))
        for (const atOnce of [2, 50]) shared += await replay(writes, atOnce)
      }),
  })
  assert.ok(shared > 60 * histories, `${shared}`)
  t.diagnostic(`seed ${seed}, ${shared} calls that shared a transaction`)
})

test('two trees, one of which blocks the other, are removed; a new blocker of that name in the same transaction is separate', async () => {
  const { storage } = open()
  await storage.connect()
  const a = { type: defaultType, id: 'a' }
  await storage.add([newJob('a')])
  await storage.add([newJob('b', { blockers: [a] })])
  await Promise.all([
    storage.remove([a, { type: defaultType, id: 'b' }], { trees: true }),
    storage.add([newJob('a', { token: 'new' })]),
    storage.add([newJob('c', { blockers: [a] })]),
  ])
  await inspect(storage, checkTables)
  const { jobs } = await storage.claim({ worker: 'w', slots: 5, types })
  await storage.settle(jobs.map(completed))
  assert.equal((await storage.claim({ worker: 'x', slots: 5, types })).jobs[0]?.id, 'c')
})
