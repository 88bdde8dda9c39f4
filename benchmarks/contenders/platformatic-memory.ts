import { setTimeout as sleep } from 'node:timers/promises'
import type { Contender } from '../contender.ts'
import { platformaticDefaults, platformaticSession } from '../sessions/platformatic.ts'

/** How often its storage deletes what has expired, and a little more. */
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
