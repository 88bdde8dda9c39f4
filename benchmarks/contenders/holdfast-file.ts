import type { Storage } from 'holdfast'
import type { Contender } from '../contender.ts'
import { diskUsage } from '../disk-usage.ts'
import { holdfastDefaults, holdfastSession } from '../sessions/holdfast.ts'

/** Not resolved by the compiler: the driver may be missing. */
const entry: string = 'holdfast/file'

interface FileDriver {
  readonly FileStorage: new (options: { directory: string; durability: 'full' }) => Storage
}

export const contender: Contender = {
  name: 'holdfast',
  driver: 'file',
  package: 'holdfast',
  isPeer: false,
  isShared: true,
  durability: 'full',
  configuration: `FileStorage, durability full; ${holdfastDefaults}`,

  unavailable() {
    try {
      import.meta.resolve(entry)
      return undefined
    } catch (error) {
      return (error as Error).message
    }
  },

  async setup(settings, place) {
    const session = await holdfastSession(await openStorage(place), settings)
    return { ...session, storedBytes: async () => diskUsage(place) }
  },

  openStorage,
}

async function openStorage(place: string): Promise<Storage> {
  const { FileStorage } = (await import(entry)) as FileDriver
  return new FileStorage({ directory: place, durability: 'full' })
}
