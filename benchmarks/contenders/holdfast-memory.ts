import { MemoryStorage } from 'holdfast'
import type { Contender } from '../contender.ts'
import { holdfastDefaults, holdfastSession } from '../sessions/holdfast.ts'

export const contender: Contender = {
  name: 'holdfast',
  driver: 'memory',
  package: 'holdfast',
  isPeer: false,
  isShared: false,
  configuration: `MemoryStorage; ${holdfastDefaults}`,
  setup: (settings) => holdfastSession(new MemoryStorage(), settings),
  openStorage: async () => new MemoryStorage(),
}
