// Rules that are wrong in one way each. Every one must have a counterexample.

import { type Rules, soundRules } from './storage-rules.ts'

const broken = (change: Partial<Rules>): Rules => ({ ...soundRules, ...change })

export const brokenRules: Readonly<Record<string, Rules>> = {
  'no fence': broken({ isHolder: () => true }),
  'fence by worker': broken({ isHolder: (a, b) => a.worker === b.worker && a.start === b.start }),
  'fence by attempt': broken({ isHolder: (a, b) => a.attempt === b.attempt }),
  'claims without a number': broken({ numbersClaims: false }),
  'recover from a snapshot': broken({ recoverLooksAgain: false }),
  'late holder refused': broken({ acceptsLate: false }),
  'repeat not recognised': broken({ knowsRepeats: false }),
  'lost lease not counted': broken({ countsLostLeases: false }),
  'unstarted job charged': broken({ sparesUnstarted: false }),
  'held ahead again after a loss': broken({ keepsForSlot: false }),
  'retry undoes a cancel': broken({ keepsCancelling: false }),
  'heartbeat revives': broken({ refusesHeartbeatsOfEnded: false }),
  'claim ignores leases': broken({ respectsLeases: false }),
  'forced cancel forgotten': broken({ forceEndsLease: false }),
}
