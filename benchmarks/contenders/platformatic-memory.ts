import { setTimeout as sleep } from 'node:timers/promises'
import type { Contender } from '../contender.ts'
import { platformaticDefaults, platformaticSession } from '../sessions/platformatic.ts'

/** Slightly more than the interval at which its storage deletes expired data, ms. */
const cleanupMs = 1_200

export const contender: Contender = {
  name: '@platformatic/job-queue',
  driver: 'memory',
  package: '@platformatic/job-queue',
  isPeer: true,
  isShared: false,
  configuration: `MemoryStorage; ${platformaticDefaults}`,

  async setup(settings) {
    const { MemoryStorage } = await import('@platformatic/job-queue')
    return { ...(await platformaticSession(new MemoryStorage(), settings)), sweep: () => sleep(cleanupMs) }
  },
}
