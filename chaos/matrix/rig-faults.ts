// Which faults of a run of the rig belong to which cell: one run has the faults of many cells at the same time.

import type { Entry } from '../entries.ts'
import type { FaultName } from './faults.ts'

const pointOf =
  (steps: readonly string[], role: string) =>
  (entry: Entry): boolean =>
    entry.what === 'crashing' && entry.by.startsWith(role) && steps.includes(entry.point.split(':')[0]!)

const proxyFault =
  (...names: readonly string[]) =>
  (entry: Entry): boolean =>
    entry.what === 'disturbed' && names.includes(entry.fault)

const upkeep = ['extend', 'settle', 'unlisten', 'disconnect', 'recover', 'sweep', 'cancel', 'pause', 'revive', 'remove']

export const rigFaults = {
  K1: pointOf(['claim', 'handler'], 'worker'),
  // Most outcomes are settled by the next claim.
  K2: pointOf(['settle', 'outcomes'], 'worker'),
  K3: pointOf(
    upkeep.filter((step) => step !== 'settle'),
    '',
  ),
  K4: pointOf(['add'], 'producer'),
  K5: pointOf(['add'], 'worker'),
  K7: (entry) => entry.what === 'killed',
  K8: (entry) => entry.what === 'crashing' && entry.point === 'poison',
  P1: (entry) => entry.what === 'stopped' && entry.process.startsWith('worker'),
  P3: (entry) => entry.what === 'serverFrozen',
  P4: (entry) => entry.what === 'stopped' && entry.process.startsWith('worker-0.'),
  D1: (entry) => entry.what === 'serverKilled',
  D6: (entry) => entry.what === 'sessionEnded',
  N1: proxyFault('delay'),
  N2: proxyFault('halfOpen'),
  N3: proxyFault('cut', 'halfClose'),
  N4: proxyFault('drop'),
  N5: proxyFault('refuse'),
} as const satisfies Partial<Record<FaultName, (entry: Entry) => boolean>>

export type RigFault = keyof typeof rigFaults
