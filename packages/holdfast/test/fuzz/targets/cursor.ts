import type { Storage } from 'holdfast/storage'
import type { Subject } from '../../../../conformance/src/index.ts'
import { Defect, type Target } from '../fuzz.ts'
import { mutated } from '../mutate.ts'

const kept = { completedMs: 1e6, failedMs: 1e6, cancelledMs: 1e6 }

/** Cursors of lists, by creation and by place, and of the key-value store: a page, or a refusal. No page repeats for ever. */
export const cursorOf = (create: () => Subject | Promise<Subject>) => async (): Promise<Target> => {
  const { storage, close } = await create()
  await storage.connect()
  const lists = listsOf(storage)
  await storage.add(
    Array.from({ length: 9 }, (_, index) => ({
      type: index % 2 === 0 ? 'a' : 'a:b',
      id: `job ${index}`,
      token: `t${index}`,
      retention: kept,
      ...(index % 3 === 0 && { delayMs: 1e6 }),
      ...(index > 5 && { group: { key: '{g}' } }),
    })),
  )
  await storage.claim({ worker: 'w', slots: 2, types: [{ type: 'a', leaseMs: 1e6 }] })
  await storage.cancel([{ type: 'a:b', id: 'job 1' }])
  for (let index = 0; index < 5; index++) await storage.kv.set(['k', String(index)], new Uint8Array([index]))
  const valid: { list: number; cursors: string[] }[] = []
  for (const [list, page] of lists.entries()) {
    const cursors: string[] = []
    for (let cursor: string | undefined; ;) {
      const { nextCursor } = await page(cursor)
      if (nextCursor === undefined) break
      cursors.push((cursor = nextCursor))
    }
    valid.push({ list, cursors: cursors.length > 0 ? cursors : ['x'] })
  }
  return {
    input: (random) => {
      const { list } = random.pick(valid)
      // That of another list, too.
      const { cursors } = random.below(5) === 0 ? random.pick(valid) : valid[list]!
      return { list, cursor: mutated(random, cursors) }
    },
    async run(input) {
      const { list, cursor } = input as { list: number; cursor: string }
      let at: string | undefined = cursor
      for (let pages = 0; at !== undefined; pages++) {
        if (pages > 200) throw new Defect('the pages do not end')
        at = (await lists[list]!(at)).nextCursor
      }
    },
    close: async () => {
      await storage.disconnect()
      await close?.()
    },
  }
}

type List = (cursor: string | undefined) => Promise<{ readonly nextCursor?: string | undefined }>

const at = (cursor: string | undefined) => (cursor === undefined ? {} : { cursor })

function listsOf(storage: Storage): List[] {
  return [
    (cursor) => storage.list({ of: 'jobs', limit: 2, ...at(cursor) }),
    (cursor) => storage.list({ of: 'jobs', limit: 2, order: 'asc', types: ['a:b'], ...at(cursor) }),
    (cursor) => storage.list({ of: 'chains', limit: 2, ...at(cursor) }),
    (cursor) => storage.list({ of: 'jobs', limit: 2, by: 'place', ...at(cursor) }),
    (cursor) => storage.list({ of: 'jobs', limit: 2, by: 'place', states: ['queued', 'cancelled'], ...at(cursor) }),
    (cursor) => storage.kv.list(['k'], { limit: 2, ...at(cursor) }),
  ]
}
