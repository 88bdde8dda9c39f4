// listen: listeners get every hint of their topics from the moment `listen` resolves.

import assert from 'node:assert/strict'
import type { Signal, Storage, Topic } from 'holdfast/storage'
import type { Case } from '../case.ts'
import { listenEventCases } from './listen-events.ts'
import { listenHintCases } from './listen-hints.ts'
import { complete } from '../outcomes.ts'
import { runOne } from '../scenarios.ts'

const count = async (storage: Storage, topics: readonly Topic[]) => {
  const heard = { times: 0, unlisten: async () => {} }
  heard.unlisten = await storage.listen(topics, () => void heard.times++)
  return heard
}

const listeningCases: readonly Case[] = [
  {
    name: 'every listener gets a hint for each of its topics',
    run: async ({ storage, added, claimOne, until }) => {
      const signals: Signal[] = []
      const topics = (['wake', 'done'] as const).map((kind) => ({ kind, type: 'mail' }))
      const unlisten = await storage.listen(topics, (signal) => void signals.push(signal))
      const other = await count(storage, [{ kind: 'done', type: 'mail' }])
      await added()
      await until(() => signals.some(({ kind }) => kind === 'wake'))
      await complete(storage, await claimOne())
      await until(() => signals.some(({ kind }) => kind === 'done') && other.times > 0)
      await unlisten()
      await other.unlisten()
    },
  },
  {
    name: 'a listener that was ended gets no more hints; others do',
    proves: ['S26'],
    run: async ({ storage, added, until }) => {
      const topics = [{ kind: 'wake', type: 'mail' }] as const
      const [first, second] = [await count(storage, topics), await count(storage, topics)]
      await added()
      await until(() => first.times > 0 && second.times > 0)
      await first.unlisten()
      const [before, after] = [first.times, second.times]
      await added()
      await until(() => second.times > after)
      assert.equal(first.times, before)
      await second.unlisten()
    },
  },
  {
    name: 'one function may listen twice and be ended once',
    run: async ({ storage, added, until }) => {
      let times = 0
      const onSignal = () => void times++
      const topics = [{ kind: 'wake', type: 'mail' }] as const
      const [first, second] = [await storage.listen(topics, onSignal), await storage.listen(topics, onSignal)]
      await first()
      await added()
      await until(() => times > 0)
      await second()
    },
  },
  {
    name: 'a listener gets hints of its own types only, whatever their names',
    proves: ['S24'],
    run: async ({ storage, added, until }) => {
      const names = ['a', 'a:b', 'a*', 'A', 'a b', '*', "a'; --"]
      const heard = new Map<string, Set<string>>()
      const unlisten = []
      for (const type of names) {
        const set = new Set<string>()
        heard.set(type, set)
        unlisten.push(await storage.listen([{ kind: 'wake', type }], (signal) => void set.add(signal.type)))
      }
      for (const type of names) await added({ type })
      await until(() => names.every((type) => heard.get(type)!.size > 0))
      for (const type of names) assert.deepEqual([...heard.get(type)!], [type])
      for (const stop of unlisten) await stop()
    },
  },
  {
    name: 'a change right after listen resolved sends a hint',
    proves: ['L5', 'chains trap 14'],
    run: async ({ storage, added, until }) => {
      for (let round = 0; round < 20; round++) {
        const type = `round ${round}`
        const heard = await count(storage, [{ kind: 'wake', type }])
        await added({ type })
        await until(() => heard.times > 0)
        await heard.unlisten()
      }
    },
  },
  {
    name: 'a hint reaches listeners of another handle',
    proves: ['trap 29'],
    run: async (context) => {
      const other = await context.another()
      await other.connect()
      const heard = await count(other, [{ kind: 'wake', type: 'mail' }])
      const done = await count(other, [{ kind: 'done', type: 'mail' }])
      await context.added()
      await context.until(() => heard.times > 0)
      await runOne(context)
      await context.until(() => done.times > 0)
      await heard.unlisten()
      await done.unlisten()
      await other.disconnect()
    },
  },
  {
    name: 'a listener may call the storage',
    run: async ({ storage, added, claim, until }) => {
      const claimed: string[] = []
      const unlisten = await storage.listen([{ kind: 'wake', type: 'mail' }], () => {
        void claim().then((jobs) => claimed.push(...jobs.map(({ id }) => id)))
      })
      const { id } = await added()
      await until(() => claimed.includes(id))
      await unlisten()
    },
  },
  {
    name: 'a listener without topics gets no hints and can be ended',
    run: async ({ storage, added }) => {
      const heard = await count(storage, [])
      await added()
      await heard.unlisten()
      assert.equal(heard.times, 0)
    },
  },
]

export const listenCases: readonly Case[] = [...listenHintCases, ...listeningCases, ...listenEventCases]
