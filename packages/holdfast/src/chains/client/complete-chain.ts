// completeJobChain: ends the last job of a chain, and those that follow it, without a worker. One transaction where the storage
// has them; elsewhere one move per job. The fence is the expected tail of the chain.

import { HoldfastError } from '../../errors.ts'
import { isFunction } from '../../option-checks.ts'
import { isTerminal } from '../../storage/rules/job/states.ts'
import type { JobRecord, JobRef, NewJob, SettleVerdict, Workerless } from '../../storage/storage.ts'
import type { Dependencies } from '../dependencies.ts'
import { aboutChain, publishAdded } from '../events/chain-events.ts'
import { chainStartOf } from '../job/carried.ts'
import { type Completing, endingOf, runCompletion } from '../job/completion.ts'
import { blockerNotFound, chainNotFound } from '../job/not-found.ts'
import { chainOf, chainParts, jobOf, jobParts, type PlainChain, type PlainJob } from '../job/records.ts'
import { chainRefOf, jobRefOf, typeNameOf } from '../job/stored-type.ts'
import { isChainRef } from '../options.ts'
import { afterCommit } from '../transactions/after-commit.ts'
import { ownTransaction } from '../transactions/own-transaction.ts'
import type { ChainRef } from '../types/records.ts'

type Run = (context: object) => Promise<unknown>
type Settled = Extract<SettleVerdict, { verdict: 'settled' }>

/** @param given the user's transaction @throws CHAIN_NOT_FOUND, and what the callback throws */
export function completeChain(
  dependencies: Dependencies,
  chain: JobRef,
  run: Run,
  given: unknown,
): Promise<PlainChain> {
  const { storage } = dependencies
  if (given !== undefined || !storage.transaction) return completeIn(dependencies, chain, run, given)
  return ownTransaction(storage, (tx) => completeIn(dependencies, chain, run, tx))
}

async function completeIn(dependencies: Dependencies, chain: JobRef, run: Run, tx: unknown): Promise<PlainChain> {
  const job = jobOf(await readTail(dependencies, chain, tx))
  const complete = async (given: ChainRef, callback: (context: object) => unknown): Promise<PlainJob> => {
    isChainRef('job', given)
    isFunction('callback', callback)
    return completeJob(dependencies, chain, jobRefOf(given), callback, tx)
  }
  await run(tx === undefined ? { job, complete } : { job, complete, tx })
  return chainOf(await readChain(dependencies, chain, tx))
}

async function readChain({ storage }: Dependencies, chain: JobRef, tx: unknown): Promise<JobRecord> {
  const [record] = await storage.get([chain], { parts: chainParts, tx })
  if (record?.chainIndex === 0) return record
  throw chainNotFound(chainRefOf(chain))
}

/** In a transaction it is locked: from then on it stays the tail. */
async function readTail(dependencies: Dependencies, chain: JobRef, tx: unknown): Promise<JobRecord> {
  for (;;) {
    const { tail } = await readChain(dependencies, chain, tx)
    const { type, id } = tail!
    const [record] = await dependencies.storage.get([{ type, id }], { parts: jobParts, lock: tx !== undefined, tx })
    // While the lock was awaited, another transaction may have continued the chain or deleted it: then the tail is read again.
    if (record && (!isTerminal(record.state) || isTerminal(tail!.state))) return record
  }
}

async function completeJob(
  dependencies: Dependencies,
  chain: JobRef,
  ref: JobRef,
  callback: (context: object) => unknown,
  tx: unknown,
): Promise<PlainJob> {
  const { storage, clock } = dependencies
  const [job] = await storage.get([ref], { parts: jobParts, tx })
  if (!job) throw refused({ verdict: 'not_found' }, chain, ref)
  if (isTerminal(job.state)) throw refused({ verdict: verdictOf(job) }, chain, ref)
  const completing = await runCompletion(callback, job, dependencies, tx)
  const verdict = await settle(dependencies, { ...ref, chain, token: clock.newId() }, completing, tx)
  const after = completing.kind === 'continued' ? completing.next : ref
  const [record] = await storage.get([after], { parts: jobParts, tx })
  const endedAt = completing.kind === 'continued' ? record?.createdAt : record?.finishedAt
  afterCommit(tx, (committed) => publishCompleted(dependencies, job, completing, verdict, { committed, endedAt }))
  if (!record) throw chainNotFound(chainRefOf(chain))
  return jobOf(record)
}

/** @throws the error of a verdict that refuses it */
async function settle(
  { storage }: Dependencies,
  fence: Workerless,
  completing: Completing,
  tx: unknown,
): Promise<Settled> {
  const onEnd = completing.kind === 'continued' ? completing.onEnd : undefined
  try {
    const [verdict] = await storage.settle([{ ...fence, ...endingOf(completing) }], tx)
    const jobs = completing.kind === 'continued' ? completing.jobs : []
    if (verdict!.verdict !== 'settled') throw refused(verdict!, fence.chain, fence, jobs)
    onEnd?.()
    return verdict!
  } catch (error) {
    onEnd?.(error)
    throw error
  }
}

const verdictOf = ({ state }: JobRecord): 'cancelled' | 'already_completed' =>
  state === 'cancelled' ? 'cancelled' : 'already_completed'

function refused(
  verdict: SettleVerdict,
  chain: JobRef,
  { type, id }: JobRef,
  jobs: readonly NewJob[] = [],
): HoldfastError {
  const typeName = typeNameOf(type)
  const about = { typeName, jobId: id, chainId: chain.id }
  switch (verdict.verdict) {
    case 'not_found':
      return chainNotFound(chainRefOf(chain))
    case 'cancelled':
      return new HoldfastError('CHAIN_CANCELLED', `chain '${chain.id}' was cancelled, and was not completed`, about)
    case 'conflict':
      return blockerNotFound(verdict, jobs, about)
    default: {
      const message = `job '${id}' of '${typeName}' was completed by another call or worker. This completion was dropped.`
      return new HoldfastError('JOB_ALREADY_COMPLETED', message, about)
    }
  }
}

function publishCompleted(
  { publishChainEvent }: Dependencies,
  job: JobRecord,
  completing: Completing,
  verdict: Settled,
  { committed, endedAt }: { readonly committed: true | 'unknown'; readonly endedAt: number | undefined },
): void {
  const more = committed === 'unknown' ? ({ committed } as const) : {}
  const since = (start: number | undefined): { durationMs?: number } =>
    endedAt === undefined || start === undefined ? {} : { durationMs: endedAt - start }
  const about = { ...chainRefOf(job), ...aboutChain(job.chain), workerId: null }
  publishChainEvent('jobCompleted', { ...about, ...since(job.createdAt), ...more })
  if (completing.kind === 'continued') {
    publishAdded(publishChainEvent, completing.jobs, verdict.added, { ...more, continues: job })
  } else {
    const { output } = completing
    publishChainEvent('jobChainCompleted', { ...chainRefOf(job.chain), output, ...since(chainStartOf(job)), ...more })
  }
  for (const ref of verdict.unblocked) publishChainEvent('jobUnblocked', { ...chainRefOf(ref), ...more })
}
