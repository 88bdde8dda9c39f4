import { createAdmin, MemoryStorage, Queue } from 'holdfast'
import { SqliteStorage } from 'holdfast/sqlite'
import { filterOf } from '../../../src/cli/job-filter.ts'
import type { Target } from '../fuzz.ts'
import { mutated } from '../mutate.ts'

const texts = ['customer=42', 'total>=10.5', 'total<100', 'paid=true', 'name="true"', 'a.b=c d', '__proto__=1', 'x>1']
const objects = [
  '{"where":{"customer":42,"total":{"gte":10,"lt":100}}}',
  '{"where":{"name":["a","b"],"paid":true},"states":["failed","queued"]}',
  '{"where":{"__proto__":1},"group":"{g}"}',
  '{"createdFrom":1767225600000,"createdTo":1767225700000,"order":"asc","limit":5}',
  '{"where":{"field":{"gt":"a","lte":"b"}},"payload":true,"error":true}',
]

/** Filters of lists: of the command line as text, and of calls as objects. Memory and SQLite find the same jobs. */
export const filter = async (): Promise<Target> => {
  const storages = [new MemoryStorage(), new SqliteStorage({ path: ':memory:' })]
  const queues = storages.map((storage) => new Queue({ storage }))
  for (const queue of queues) {
    await queue.enqueue('1', 1, { search: { customer: 42, total: 12, name: 'a', paid: true } })
    await queue.enqueue('2', 2, { search: { customer: 43, total: 99.5, name: 'b', field: 'ab' }, group: '{g}' })
    await queue.enqueue('3', 3)
  }
  const admin = createAdmin({ storage: storages[0]! })
  return {
    input: (random) =>
      random.below(2) === 0
        ? { text: [mutated(random, texts), mutated(random, texts)] }
        : { object: mutated(random, objects) },
    async run(input) {
      const { text, object } = input as { text?: string[]; object?: string }
      const query = text ? await filterOf(admin, { where: text }) : parsed(object!)
      if (query === undefined) return
      const pages = await Promise.all(queues.map((queue) => queue.list(query as never)))
      const [first, second] = pages.map(({ items }) => JSON.stringify(items.map(({ id }) => id).toSorted()))
      if (first !== second) throw new Error(`memory finds ${first}, SQLite ${second}`)
    },
    close: async () => {
      await admin.close()
      for (const queue of queues) await queue.stop()
    },
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
