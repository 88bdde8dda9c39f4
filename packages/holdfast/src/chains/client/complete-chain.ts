// completeJobChain: ends the last job of a chain, and those that follow it, without a worker. One transaction where the
// storage has such; elsewhere one move for each job. The chain's expected tail stands in for the fence.

import { HoldfastError } from '../../errors.ts'
import { isTerminal } from '../../storage/rules/job/states.ts'
import type { JobRecord, JobRef, SettleVerdict, Workerless } from '../../storage/storage.ts'
import { afterCommit } from '../attempt/commits.ts'
import { type Completing, endingOf, runCompletion } from '../attempt/completion.ts'
import { tellAdded } from '../events/events.ts'
import type { Ground } from '../dependencies.ts'
import {
  chainOf,
  chainParts,
  chainRefOf,
  jobOf,
  jobParts,
  jobRefOf,
  type PlainChain,
  type PlainJob,
} from './reading.ts'
import type { ChainRef } from '../types/records.ts'
import { chainStartOf } from './schedule.ts'
import { chainNotFound } from './waits.ts'

type Settled = Extract<SettleVerdict, { verdict: 'settled' }>

/** @throws CHAIN_NOT_FOUND, and whatever the callback throws */
export async function completeChain(
  ground: Ground,
  chain: JobRef,
  run: (context: object) => Promise<unknown>,
  tx?: unknown,
): Promise<PlainChain> {
  const tail = await readTail(ground, chain, tx)
  const complete = (job: ChainRef, callback: (context: object) => unknown): Promise<PlainJob> =>
    completeJob(ground, chain, jobRefOf(job), callback, tx)
  await run(tx === undefined ? { job: jobOf(tail), complete } : { job: jobOf(tail), complete, tx })
  return chainOf(await readChain(ground, chain, tx))
}

async function readChain({ storage }: Ground, chain: JobRef, tx: unknown): Promise<JobRecord> {
  const [record] = await storage.get([chain], { parts: chainParts, tx })
  if (record?.chainIndex === 0) return record
  throw chainNotFound({ typeName: chain.type, id: chain.id })
}

/** Locked, where there is a transaction: from then on it stays the tail. */
async function readTail(ground: Ground, chain: JobRef, tx: unknown): Promise<JobRecord> {
  for (;;) {
    const { tail } = await readChain(ground, chain, tx)
    const { type, id } = tail!
    const lock = tx !== undefined
    const [record] = await ground.storage.get([{ type, id }], { parts: jobParts, lock, tx })
    // Whoever had the lock before may have gone on with the chain, or the chain be gone.
    if (record && (!isTerminal(record.state) || isTerminal(tail!.state))) return record
  }
}

async function completeJob(
  ground: Ground,
  chain: JobRef,
  ref: JobRef,
  callback: (context: object) => unknown,
  tx: unknown,
): Promise<PlainJob> {
  const { storage, clock } = ground
  const [job] = await storage.get([ref], { parts: jobParts, tx })
  if (!job) throw refused({ verdict: 'not_found' }, chain, ref)
  if (isTerminal(job.state)) throw refused({ verdict: verdictOf(job) }, chain, ref)
  const completing = await runCompletion(callback, job, ground, tx)
  const verdict = await settled(ground, { ...ref, chain, token: clock.newId() }, completing, tx)
  const after = completing.kind === 'continued' ? completing.next : ref
  const [record] = await storage.get([after], { parts: jobParts, tx })
  const endedAt = completing.kind === 'continued' ? record?.createdAt : record?.finishedAt
  afterCommit(tx, (committed) => tellCompleted(ground, job, completing, verdict, { committed, endedAt }))
  if (!record) throw chainNotFound({ typeName: chain.type, id: chain.id })
  return jobOf(record)
}

/** @throws what stands in the way */
async function settled({ storage }: Ground, fence: Workerless, completing: Completing, tx: unknown): Promise<Settled> {
  const onEnd = completing.kind === 'continued' ? completing.onEnd : undefined
  try {
    const [verdict] = await storage.settle([{ ...fence, ...endingOf(completing) }], tx)
    if (verdict!.verdict !== 'settled') throw refused(verdict!, fence.chain, fence)
    onEnd?.()
    return verdict!
  } catch (error) {
    onEnd?.(error)
    throw error
  }
}

const verdictOf = ({ state }: JobRecord): 'cancelled' | 'already_completed' =>
  state === 'cancelled' ? 'cancelled' : 'already_completed'

function refused(verdict: SettleVerdict, chain: JobRef, { type, id }: JobRef): HoldfastError {
  const about = { typeName: type, jobId: id, chainId: chain.id }
  switch (verdict.verdict) {
    case 'not_found':
      return chainNotFound({ typeName: chain.type, id: chain.id })
    case 'cancelled':
      return new HoldfastError('CHAIN_CANCELLED', `Chain '${chain.id}' was cancelled`, about)
    case 'conflict':
      return blockerNotFound(verdict, about)
    default:
      return new HoldfastError('JOB_ALREADY_COMPLETED', `Job '${id}' was completed by somebody else`, about)
  }
}

/** What stood in the way of the jobs that come along. */
export function blockerNotFound(
  { added }: Pick<Extract<SettleVerdict, { verdict: 'conflict' }>, 'added'>,
  about: Readonly<Record<string, unknown>>,
): HoldfastError {
  const missing = added.find((verdict) => verdict.verdict === 'blocker_not_found')
  if (missing?.verdict !== 'blocker_not_found') {
    return new HoldfastError('STORAGE_ERROR', 'the continuation could not be added', { ...about, maybeApplied: false })
  }
  const { type, id } = missing.blocker
  const message = `there is no chain '${id}' of '${type}' to wait for`
  return new HoldfastError('BLOCKER_NOT_FOUND', message, { ...about, blocker: { typeName: type, id } })
}

function tellCompleted(
  { tellChains }: Ground,
  job: JobRecord,
  completing: Completing,
  verdict: Settled,
  { committed, endedAt }: { readonly committed: true | 'unknown'; readonly endedAt: number | undefined },
): void {
  const more = committed === 'unknown' ? ({ committed } as const) : {}
  const since = (start: number | undefined): { durationMs?: number } =>
    endedAt === undefined || start === undefined ? {} : { durationMs: endedAt - start }
  const { chain } = job
  const about = { typeName: job.type, id: job.id, chainTypeName: chain.type, chainId: chain.id, workerId: null }
  tellChains('jobCompleted', { ...about, ...since(job.createdAt), ...more })
  if (completing.kind === 'continued')
    tellAdded(tellChains, completing.jobs, verdict.added, { ...more, continues: job })
  else {
    const { output } = completing
    tellChains('jobChainCompleted', { ...chainRefOf(chain), output, ...since(chainStartOf(job)), ...more })
  }
  for (const { type, id } of verdict.unblocked) tellChains('jobUnblocked', { typeName: type, id, ...more })
}
