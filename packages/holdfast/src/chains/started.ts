// What a start answers with: the chain that stands now, its own or the one that was there before.

import { HoldfastError } from '../errors.ts'
import type { GuardedStorage } from '../storage/guard.ts'
import type { AddVerdict, JobRecord, JobRef, NewJob, Standing } from '../storage/storage.ts'
import { decodeJson } from './json.ts'
import { chainOf, chainParts, type PlainChain } from './reading.ts'
import type { ChainRef } from './records.ts'

type StartedChain = PlainChain & { deduplicated: boolean }

/** @param refs of the chains that were asked for; the batch may hold blockers of theirs too. @throws BLOCKER_NOT_FOUND */
export async function startedChains(
  storage: Pick<GuardedStorage, 'get'>,
  refs: readonly ChainRef[],
  jobs: readonly NewJob[],
  verdicts: readonly AddVerdict[],
  tx: unknown,
): Promise<StartedChain[]> {
  const asked = refs.map((ref) => {
    const index = jobs.findIndex(({ type, id }) => type === ref.typeName && id === ref.id)
    return { job: jobs[index]!, verdict: verdicts[index]! }
  })
  const standing = asked.map(({ verdict, job }) => standingOf(verdict, job))
  const records = await storage.get(standing.map(refOf), { parts: chainParts, tx })
  return Promise.all(
    asked.map(async ({ job, verdict }, index): Promise<StartedChain> => {
      const deduplicated = verdict.verdict === 'duplicate'
      const record = await firstOf(storage, records[index], tx)
      if (record) return { ...chainOf(record), deduplicated }
      return { ...withoutRecord(standing[index]!, job), deduplicated }
    }),
  )
}

const refOf = ({ type, id }: JobRef): JobRef => ({ type, id })

function standingOf(verdict: AddVerdict, { type, id }: NewJob): Standing {
  if (verdict.verdict === 'added' || verdict.verdict === 'duplicate') return verdict.job
  if (verdict.verdict === 'skipped') return { type, id, token: '', state: 'completed' }
  const { blocker } = verdict
  const message = `there is no chain '${blocker.id}' of '${blocker.type}' to wait for`
  throw new HoldfastError('BLOCKER_NOT_FOUND', message, {
    typeName: type,
    jobId: id,
    blocker: { typeName: blocker.type, id: blocker.id },
  })
}

/** The id may be that of a continuation of its type: then its chain is meant. */
async function firstOf(
  storage: Pick<GuardedStorage, 'get'>,
  record: JobRecord | undefined,
  tx: unknown,
): Promise<JobRecord | undefined> {
  if (!record || record.chainIndex === 0) return record
  return (await storage.get([record.chain], { parts: chainParts, tx }))[0]
}

/** Gone already: what is known of it without its record. */
function withoutRecord({ type, id, result }: Standing, job: NewJob): PlainChain {
  return {
    ...{ typeName: type, id, rootChainId: id, originId: null, priority: job.priority ?? 0, createdAt: 0 },
    input: decodeJson('payload', job.payload),
    state: 'completed',
    output: decodeJson('result', result),
    completedAt: 0,
  }
}
