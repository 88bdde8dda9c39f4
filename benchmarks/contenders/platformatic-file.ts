import { readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Contender } from '../contender.ts'
import { diskUsage } from '../disk-usage.ts'
import { platformaticDefaults, platformaticSession } from '../sessions/platformatic.ts'

export const contender: Contender = {
  name: '@platformatic/job-queue',
  driver: 'file',
  package: '@platformatic/job-queue',
  isPeer: true,
  isShared: true,
  durability: 'full',
  configuration: `FileStorage, which syncs each file but no directory; ${platformaticDefaults}`,

  async setup(settings, place) {
    const { FileStorage } = await import('@platformatic/job-queue')
    const session = await platformaticSession(new FileStorage({ basePath: place }), settings)
    return {
      ...session,
      // It checks for expired files once a second, which takes a while. Kept results stay.
      async sweep() {
        for (let before = Infinity, now = entriesIn(place); now < before; now = entriesIn(place)) {
          before = now
          await sleep(2_500)
        }
      },
      storedBytes: async () => diskUsage(place),
    }
  },
}

const entriesIn = (place: string): number => readdirSync(place, { recursive: true }).length
