// All replicas of a directory give the same answers: histories of the model, each call on another of three replicas, some of
// which never commit at the first attempt. At the end each replica equals one that only read the log.

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Clock, systemClock } from '../../../src/clock.ts'
import { testModel } from '../../../../conformance/src/model/model.ts'
import type { Subject } from '../../../../conformance/src/index.ts'
import { type Disk, nodeDisk } from '../../../src/storage/file/log/disk.ts'
import { FileStorage } from '../../../src/storage/file/file-storage.ts'
import type { Session } from '../../../src/storage/file/session.ts'
import type { Storage } from '../../../src/storage/storage.ts'
import { quickFolder } from '../../drivers.ts'
import { modelSeed, sized } from '../../full-size.ts'
import { dump } from './dump.ts'

/** A disk that is full at every second write. */
function halfFull(): Disk {
  let times = 0
  return {
    ...nodeDisk,
    create(path, bytes) {
      if (path.includes('/tmp/') && ++times % 2 === 1) throw Object.assign(new Error('full'), { code: 'ENOSPC' })
      return nodeDisk.create(path, bytes)
    },
  }
}

/** Sends each call to the next storage, and repeats a failed one. */
function inTurns(storages: readonly Storage[]): Storage {
  let calls = 0
  const take = (pick: (storage: Storage) => object): object =>
    new Proxy(pick(storages[0]!), {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name)
        if (name === 'kv') return take(({ kv }) => kv)
        if (typeof value !== 'function' || name === 'listen') return value
        return async (...args: unknown[]) => {
          if (name === 'connect' || name === 'disconnect') {
            for (const storage of storages) await retried(() => storage[name]())
            return undefined
          }
          const turn = pick(storages[++calls % storages.length]!) as Record<
            PropertyKey,
            (...given: unknown[]) => unknown
          >
          return retried(() => turn[name]!(...args))
        }
      },
    })
  return take((storage) => storage) as Storage
}

async function retried(run: () => unknown): Promise<unknown> {
  for (;;) {
    try {
      return await run()
    } catch (error) {
      if ((error as { code?: string }).code !== 'ENOSPC') throw error
    }
  }
}

const histories = sized(100, 30)

test(`${histories} histories, each call on another replica, some of which fail at first`, async (context) => {
  let checked = 0
  const { runs, commands, seed } = await testModel({ create, runs: histories, ...modelSeed })
  context.diagnostic(`model: file: three replicas: ${runs} histories, ${commands} commands, seed ${seed}`)
  assert.ok(checked >= runs)

  async function create(): Promise<Subject> {
    const directory = await mkdtemp(join(quickFolder, 'holdfast-file-'))
    let now = 1_767_225_600_000
    const clock: Clock = { ...systemClock, now: () => now }
    const sessions: Session[] = []
    const opened = (session: Session): void => void sessions.push(session)
    const open = (disk: Disk): FileStorage =>
      new FileStorage({ directory, clock, durability: 'relaxed' }, { disk, opened })
    const storages = [open(nodeDisk), open(halfFull()), open(halfFull())]
    const all = inTurns(storages)
    const check = async (): Promise<void> => {
      for (const storage of storages) await storage.count({})
      const fresh = open(nodeDisk)
      await fresh.connect()
      const [expected, ...dumps] = [sessions.at(-1)!, ...sessions.slice(0, -1)].map(({ journal }) =>
        dump(journal.replica, now),
      )
      for (const known of dumps) assert.deepEqual(known, expected)
      await fresh.disconnect()
      checked++
    }
    return {
      storage: new Proxy(all, {
        get: (target, name) =>
          name === 'disconnect' ? () => check().then(() => all.disconnect()) : Reflect.get(target, name),
      }),
      advance: async (ms) => void (now += ms),
      close: () => rm(directory, { recursive: true }),
    }
  }
})
