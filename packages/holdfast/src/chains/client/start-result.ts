// The answer to a start: the chain that was added, or the one that held its id or key before. A stale version is an error.

import { refusalOf } from '../../engine/limits/add-limits.ts'
import type { GuardedStorage } from '../../engine/guard.ts'
import { DuplicateJobError } from '../../errors.ts'
import { isTerminal } from '../../storage/rules/job/states.ts'
import type { AddVerdict, JobRecord, JobRef, NewJob, Standing } from '../../storage/storage.ts'
import { missingBlocker } from '../job/not-found.ts'
import { chainOf, chainParts, type PlainChain } from '../job/records.ts'
import { chainRefOf, jobRefOf } from '../job/stored-type.ts'
import { decodeInput, decodeOutput } from '../job/values.ts'
import type { ChainRef } from '../types/records.ts'
import type { StartStatus } from '../types/start-options.ts'

export type StartedChain = PlainChain & StartStatus

export const asDuplicate = (chain: PlainChain): StartedChain => ({ ...chain, status: 'duplicate', deduplicated: true })
const asAdded = (chain: PlainChain): StartedChain => ({ ...chain, status: 'added', deduplicated: false })

/** @param refs of the chains that were asked for; the batch may hold blockers of theirs too. @throws BLOCKER_NOT_FOUND, DUPLICATE_JOB */
export async function startedChains(
  storage: Pick<GuardedStorage, 'get'>,
  refs: readonly ChainRef[],
  jobs: readonly NewJob[],
  verdicts: readonly AddVerdict[],
  tx: unknown,
): Promise<StartedChain[]> {
  const starts = refs.map(jobRefOf).map((ref) => {
    const index = jobs.findIndex(({ type, id }) => type === ref.type && id === ref.id)
    return { job: jobs[index]!, verdict: verdicts[index]!, standing: standingOf(verdicts[index]!, jobs[index]!) }
  })
  const toRead = starts.filter(({ verdict }) => !isNew(verdict)).map(({ standing }) => refOf(standing))
  const records = toRead.length > 0 ? await storage.get(toRead, { parts: chainParts, tx }) : []
  let next = 0
  const found = starts.map(({ verdict }) => (isNew(verdict) ? undefined : records[next++]))
  return Promise.all(
    starts.map(async ({ job, verdict, standing }, index): Promise<StartedChain> => {
      if (isNew(verdict)) return asAdded(chainOf(newRecord(job, verdict.job)))
      const record = await firstOf(storage, found[index], tx)
      const chain = record ? chainOf(record) : withoutRecord(standing, job)
      if (verdict.verdict === 'replaced') return { ...chain, status: 'replaced', deduplicated: true }
      return verdict.verdict === 'duplicate' ? asDuplicate(chain) : asAdded(chain)
    }),
  )
}

type New = AddVerdict & { verdict: 'added'; job: Standing & { createdAt: number } }

/** A new chain needs no read: request and verdict have all of it. */
const isNew = (verdict: AddVerdict): verdict is New =>
  verdict.verdict === 'added' && verdict.job.createdAt !== undefined && !isTerminal(verdict.job.state)

function newRecord(job: NewJob, { state, createdAt }: New['job']): Parameters<typeof chainOf>[0] {
  const { type, id, payload, priority = 0, trace } = job
  return { type, id, payload, priority, trace, state, createdAt, root: { type, id } }
}

const refOf = ({ type, id }: JobRef): JobRef => ({ type, id })

function standingOf(verdict: AddVerdict, job: NewJob): Standing {
  if ('job' in verdict) return verdict.job
  const { type, id } = job
  if (verdict.verdict === 'stale') throw new DuplicateJobError({ by: 'version', version: verdict.version })
  if (verdict.verdict === 'skipped') return { type, id, token: '', state: 'completed' }
  if (verdict.verdict !== 'blocker_not_found') throw refusalOf(verdict, job)!
  const { typeName } = chainRefOf({ type, id })
  throw missingBlocker(verdict.blocker, { typeName, jobId: id })
}

/** The id may be that of a continuation of its type: then the answer is its chain. */
async function firstOf(
  storage: Pick<GuardedStorage, 'get'>,
  record: JobRecord | undefined,
  tx: unknown,
): Promise<JobRecord | undefined> {
  if (!record || record.chainIndex === 0) return record
  return (await storage.get([record.chain], { parts: chainParts, tx }))[0]
}

/** A chain that is gone already, by what is known without its record. */
function withoutRecord({ type, id, result }: Standing, job: NewJob): PlainChain {
  const ref = chainRefOf({ type, id })
  return {
    ...ref,
    rootChainId: id,
    originId: null,
    priority: job.priority ?? 0,
    createdAt: 0,
    input: decodeInput(ref.typeName, job.payload),
    state: 'completed',
    output: decodeOutput(ref.typeName, result),
    completedAt: 0,
  }
}
