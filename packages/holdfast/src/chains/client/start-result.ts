// What a start answers with: the chain that stands now, its own or the one that was there before.

import { HoldfastError } from '../../errors.ts'
import { isTerminal } from '../../storage/rules/job/states.ts'
import type { GuardedStorage } from '../../engine/guard.ts'
import type { AddVerdict, JobRecord, JobRef, NewJob, Standing } from '../../storage/storage.ts'
import { decodeJson } from '../json.ts'
import { chainOf, chainParts, type PlainChain } from './reading.ts'
import type { ChainRef } from '../types/records.ts'
import type { StartRequest } from './start-batch.ts'

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
  const read = asked.flatMap(({ verdict }, index) => (isTold(verdict) ? [] : [refOf(standing[index]!)]))
  const records = read.length > 0 ? await storage.get(read, { parts: chainParts, tx }) : []
  let at = 0
  const found = asked.map(({ verdict }) => (isTold(verdict) ? undefined : records[at++]))
  return Promise.all(
    asked.map(async ({ job, verdict }, index): Promise<StartedChain> => {
      const deduplicated = verdict.verdict === 'duplicate'
      if (isTold(verdict)) return { ...chainOf(newRecord(job, verdict.job)), deduplicated }
      const record = await firstOf(storage, found[index], tx)
      if (record) return { ...chainOf(record), deduplicated }
      return { ...withoutRecord(standing[index]!, job), deduplicated }
    }),
  )
}

/** The chains that stand in the way of starts that have blockers to start: those are not asked for in vain. */
export async function standingChains(
  storage: Pick<GuardedStorage, 'get'>,
  requests: readonly StartRequest[],
  tx: unknown,
): Promise<Map<StartRequest, PlainChain>> {
  const standing = new Map<StartRequest, PlainChain>()
  const asked = requests.filter(({ startBlockers, deduplication, id }) => startBlockers && (deduplication || id))
  if (asked.length === 0) return standing
  const refs = asked.map(({ typeName: type, deduplication, id }) =>
    deduplication ? { type, key: deduplication.key } : { type, id: id! },
  )
  const records = await storage.get(refs, { parts: chainParts, tx })
  asked.forEach((request, index) => {
    const record = records[index]
    // An id is free again once its chain failed or was cancelled.
    const state = record?.tail?.state
    if (record?.chainIndex !== 0 || state === 'failed' || state === 'cancelled') return
    standing.set(request, chainOf(record))
  })
  return standing
}

type Told = AddVerdict & { verdict: 'added'; job: Standing & { createdAt: number } }

/** What is new needs no read: all of it was said here, or in the answer. */
const isTold = (verdict: AddVerdict): verdict is Told =>
  verdict.verdict === 'added' && verdict.job.createdAt !== undefined && !isTerminal(verdict.job.state)

type ReadRecord = Parameters<typeof chainOf>[0]

function newRecord(job: NewJob, { state, createdAt }: Told['job']): ReadRecord {
  const { type, id, payload, priority = 0, trace } = job
  return { type, id, payload, priority, trace, state, createdAt, root: { type, id } }
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
    typeName: type,
    id,
    rootChainId: id,
    originId: null,
    priority: job.priority ?? 0,
    createdAt: 0,
    input: decodeJson('payload', job.payload),
    state: 'completed',
    output: decodeJson('result', result),
    completedAt: 0,
  }
}
