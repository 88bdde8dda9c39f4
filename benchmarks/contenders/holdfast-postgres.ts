import type { Storage } from 'holdfast'
import type { Contender } from '../contender.ts'
import { holdfastDefaults, holdfastSession } from '../sessions/holdfast.ts'
import { postgresAt, postgresServer, postgresUnavailable } from '../sessions/postgres.ts'

/** Not resolved by the compiler: the driver may be missing. */
const entry: string = 'holdfast/postgres'

interface PostgresDriver {
  readonly PostgresStorage: new (options: { url: string }) => Storage
}

export const contender: Contender = {
  name: 'holdfast',
  driver: 'postgres',
  package: 'holdfast',
  isPeer: false,
  isShared: true,
  durability: 'full',
  configuration: `PostgresStorage with its defaults (pg), ${postgresServer}; ${holdfastDefaults}; bulk: a thousand calls of enqueue() at once`,

  unavailable() {
    try {
      import.meta.resolve(entry)
      return postgresUnavailable()
    } catch (error) {
      return (error as Error).message
    }
  },

  async setup(settings, place) {
    const { url, observed } = await postgresAt(place, settings)
    // The server counts, in the same way for all contenders.
    const session = await holdfastSession(await storageAt(url), { ...settings, countCalls: false })
    return {
      ...session,
      // Holdfast has no bulk call: adds of one turn of the event loop go to the storage together.
      async addMany(jobs) {
        await Promise.all(jobs.map(({ id, payload }) => session.add(id, payload)))
      },
      ...observed,
    }
  },

  openStorage: async (place) => storageAt((await postgresAt(place, { countCalls: false })).url),
}

async function storageAt(url: string): Promise<Storage> {
  const { PostgresStorage } = (await import(entry)) as PostgresDriver
  return new PostgresStorage({ url })
}
