// Groups and limits in several replicas of one directory: each answers as the memory driver, and has the same ring and numbers
// as one that only read the log, and as one that read a snapshot.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fakeClock } from 'holdfast/testing'
import { type Clock, systemClock } from '../../../src/clock.ts'
import { FileStorage } from '../../../src/storage/file/file-storage.ts'
import type { Disk } from '../../../src/storage/file/log/disk.ts'
import { decodeFrame, encodeFrame, format } from '../../../src/storage/file/log/frame.ts'
import { linesOfAll, readLines } from '../../../src/storage/file/log/lines.ts'
import { applyChanges } from '../../../src/storage/file/replica/apply.ts'
import { Replica } from '../../../src/storage/file/replica/replica.ts'
import type { Session } from '../../../src/storage/file/session.ts'
import { MemoryStorage } from '../../../src/storage/memory/memory-storage.ts'
import { newListeners } from '../../../src/storage/rules/signals.ts'
import { sized } from '../../full-size.ts'
import { dump } from './dump.ts'
import { type Call, LimitCommands } from './limit-commands.ts'
import { failure, MemoryDisk } from './memory-disk.ts'

/** Replicas of one directory, in which time stands until it is told to go on. */
class Bench {
  now = 1_767_225_600_000
  readonly clock: Clock = { ...systemClock, now: () => this.now }
  readonly disk = new MemoryDisk()
  readonly storages: FileStorage[] = []
  readonly #sessions: Session[] = []

  async open(disk: Disk = this.disk): Promise<FileStorage> {
    const opened = (session: Session): void => void this.#sessions.push(session)
    const storage = new FileStorage({ directory: '/d', clock: this.clock, durability: 'relaxed' }, { disk, opened })
    await retried(() => storage.connect())
    this.storages.push(storage)
    return storage
  }

  /** All replicas are equal, and so are one that reads the log and one that reads a snapshot. */
  async check(): Promise<void> {
    await this.open()
    for (const storage of this.storages) await retried(() => storage.count({}))
    const dumps = this.#sessions.map(({ journal }) => dump(journal.replica, this.now))
    for (const found of dumps) assert.deepEqual(found, dumps.at(-1))
    assert.deepEqual(dump(this.#fromSnapshot(), this.now), dumps.at(-1))
    await this.storages.pop()!.disconnect()
    this.#sessions.pop()
  }

  #fromSnapshot(): Replica {
    const { replica } = this.#sessions.at(-1)!.journal
    const lines = [...linesOfAll(replica)].map((line) => JSON.stringify(line))
    const head = { holdfast: 'snapshot', format, number: 1, last: replica.data.lastNumber, durability: 'full' } as const
    const copy = new Replica(newListeners)
    applyChanges(copy, readLines(decodeFrame(encodeFrame(head, lines))!, copy).changes, this.now)
    return copy
  }

  async close(): Promise<void> {
    for (const storage of this.storages) await storage.disconnect()
  }
}

/** The disk, but every second commit fails at first. */
function failing(disk: MemoryDisk): Disk {
  let times = 0
  return new Proxy<Disk>(disk, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...args: [string, Buffer]) => {
        if (name === 'create' && args[0].includes('/tmp/') && ++times % 2 === 1) throw failure('ENOSPC')
        return Reflect.apply(value, target, args) as unknown
      }
    },
  })
}

async function retried(run: () => Promise<unknown>): Promise<unknown> {
  for (;;) {
    try {
      return await run()
    } catch (error) {
      if ((error as { code?: string }).code !== 'ENOSPC') throw error
    }
  }
}

const histories = sized(300, 15)

test(`[F20] [F21] [F22] [F23] ${histories} histories with limits: each of three replicas answers as the memory driver`, async () => {
  for (let seed = 1; seed <= histories; seed++) {
    const { random } = fakeClock({ seed })
    const bench = new Bench()
    const memory = new MemoryStorage({ clock: bench.clock })
    const files = [await bench.open(), await bench.open(failing(bench.disk)), await bench.open(failing(bench.disk))]
    const commands = new LimitCommands(random)
    for (let step = 1; step <= 100; step++) {
      bench.now += commands.nextPause()
      const call = commands.next()
      const expected = await call(memory)
      const storage = files[Math.floor(random() * files.length)]!
      const answer = await retried(() => call(storage))
      assert.deepEqual(answer, expected, `seed ${seed}, step ${step}: ${call}`)
      commands.note(expected)
      if (step % 20 === 0) await bench.check()
    }
    await bench.close()
  }
})

test(`[F20] [F22] ${histories} histories in which replicas race for each commit: all end up equal`, async () => {
  for (let seed = 1; seed <= histories; seed++) {
    const { random } = fakeClock({ seed })
    const bench = new Bench()
    const files = [await bench.open(), await bench.open(), await bench.open()]
    const commands = new LimitCommands(random)
    for (let step = 1; step <= 20; step++) {
      bench.now += commands.nextPause()
      const calls = Array.from({ length: 6 }, (): Call => commands.next())
      for (const answer of await Promise.all(calls.map((call, index) => call(files[index % files.length]!)))) {
        commands.note(answer)
      }
    }
    await bench.check()
    await bench.close()
  }
})
