// The events of chains that a client and a worker both tell.

import { blockerError } from '../../engine/work/outcomes.ts'
import type { AddVerdict, Ended, JobRef, NewJob } from '../../storage/storage.ts'
import { chainRefOf, typeNameOf } from '../job/stored-type.ts'
import type { ChainEvent, ObserverEvent } from './observer.ts'

export type PublishChainEvent = (name: ObserverEvent, data: ChainEvent['data']) => void

/** Events of an add: chains and jobs that were created, jobs that are blocked, and duplicates. */
export function publishAdded(
  publishChainEvent: PublishChainEvent,
  jobs: readonly NewJob[],
  verdicts: readonly AddVerdict[],
  more: { readonly committed?: 'unknown'; readonly continues?: { readonly chain: JobRef } } = {},
): void {
  const { continues, ...rest } = more
  jobs.forEach(({ type, id }, index) => {
    const verdict = verdicts[index]!
    const typeName = typeNameOf(type)
    if (verdict.verdict === 'duplicate') {
      publishChainEvent('jobDeduplicated', { typeName, id: verdict.job.id, by: verdict.by, ...rest })
    }
    if (verdict.verdict === 'replaced' || verdict.verdict === 'stale') {
      const existing = verdict.verdict === 'replaced' ? verdict.job.id : id
      publishChainEvent('jobDeduplicated', { typeName, id: existing, by: 'key', ...rest })
    }
    if (verdict.verdict !== 'added') return
    const chain = continues && index === 0 ? continues.chain : { type, id }
    const about = { typeName, id, ...aboutChain(chain), ...rest }
    if (chain.id === id && chain.type === type) publishChainEvent('jobChainCreated', { typeName, id, ...rest })
    publishChainEvent('jobCreated', about)
    if (verdict.job.state === 'blocked') publishChainEvent('jobBlocked', about)
  })
}

/** Events of jobs that ended with a blocker that failed or was cancelled. */
export function publishFailedWith(
  publishEvent: PublishChainEvent,
  ended: readonly Ended[],
  more: { committed?: 'unknown' } = {},
): void {
  for (const { chain, reason, ...ref } of ended) {
    const error = blockerError(ref.id)
    publishEvent('jobFailed', { ...chainRefOf(ref), ...aboutChain(chain), reason, error, ...more })
    publishEvent('jobChainFailed', { ...chainRefOf(chain), reason, error, ...more })
  }
}

export const aboutChain = ({ type, id }: JobRef) => ({ chainTypeName: typeNameOf(type), chainId: id })
