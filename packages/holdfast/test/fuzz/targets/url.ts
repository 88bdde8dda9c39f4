import { tmpdir } from 'node:os'
import { openStorage } from '../../../src/cli/open-storage.ts'
import { Defect, type Target } from '../fuzz.ts'
import { mutated } from '../mutate.ts'

const secret = 'hunter2secret'
const valid = [
  'sqlite:./jobs.db',
  'sqlite::memory:',
  'file:./jobs',
  `postgres://ada:${secret}@127.0.0.1:5432/jobs?sslmode=disable`,
  `postgresql://ada:${secret}@[::1]/jobs?application_name=x`,
  `redis://ada:${secret}@127.0.0.1:6379/3`,
  `rediss://:${secret}@127.0.0.1/0`,
]

/** URLs of storages: a storage that is not opened, or a refusal, which never quotes a password. */
export const url = (): Target => ({
  input: (random) => ({
    url: mutated(random, valid),
    ...(random.below(8) === 0 && { schema: mutated(random, ['jobs', 'a"b', 'public']) }),
    ...(random.below(8) === 0 && { prefix: mutated(random, ['jobs', '{a}', 'a:b']) }),
  }),
  async run(input) {
    try {
      await openStorage({ ...(input as { url: string }), cwd: tmpdir(), creates: false })
    } catch (error) {
      if (String((error as Error).message).includes(secret))
        throw new Defect(`it quotes the password: ${String(error)}`)
      throw error
    }
  },
})
