import type { HostileCall } from '../call.ts'
import { adminCalls } from './admin.ts'
import { chainCalls } from './chains.ts'
import { constructorCalls, queueCalls } from './queue.ts'
import { driverKvCalls, storageCalls } from './storage.ts'
import { kvStoreCalls, taskCalls } from './tasks.ts'

/** The calls of the faces. */
export const faceCalls: readonly HostileCall[] = [
  ...queueCalls,
  ...constructorCalls,
  ...chainCalls,
  ...taskCalls,
  ...kvStoreCalls,
  ...adminCalls,
]

/** Those of the drivers. */
export const driverCalls: readonly HostileCall[] = [...storageCalls, ...driverKvCalls]
