// Groups and limits in several replicas of one directory: each answers as the memory driver, and has the same ring and numbers
// as one that only read the log, and as one that read a snapshot.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fakeClock } from 'holdfast/testing'
import { MemoryStorage } from '../../../src/storage/memory/memory-storage.ts'
import { sized } from '../../full-size.ts'
import { type Call, LimitCommands } from './limit-commands.ts'
import { Bench, failing, retried } from './replica-bench.ts'

const histories = sized(300, 5)

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
