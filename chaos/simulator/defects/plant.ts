// Small tools of the planted defects.

import type { MemoryStorage } from 'holdfast'
import type { Claim, ClaimRequest, JobRecord, JobRef, LeaseRef, NewJob, Outcome, SettleVerdict } from 'holdfast/storage'
import { type CallWrapper, wrapStorage } from '../../wrap-storage.ts'
import type { Defect } from './defect.ts'

/** A defect of the storage. @param make called once per run */
export function ofStorage(
  name: string,
  breaks: readonly string[],
  sentence: string,
  make: (storage: MemoryStorage, now: () => number) => CallWrapper,
): Defect {
  return { name, sentence, breaks, plant: (storage, now) => wrapStorage(storage, make(storage, now)) }
}

/** Every n-th time, the first one included. */
export function every(n: number): () => boolean {
  let calls = 0
  return () => calls++ % n === 0
}

/** Changes the jobs of an add. Those of an outcome stay. */
export const changingAdds =
  (change: (job: NewJob) => NewJob) =>
  (storage: MemoryStorage): CallWrapper =>
  async (verb, args, call) =>
    verb === 'add' ? storage.add((args[0] as readonly NewJob[]).map(change)) : call()

/** Changes the request of a claim. */
export const changingClaims =
  (change: (request: ClaimRequest) => ClaimRequest) =>
  (storage: MemoryStorage): CallWrapper =>
  async (verb, args, call) =>
    verb === 'claim' ? storage.claim(change(args[0] as ClaimRequest)) : call()

/** Changes the outcomes of settles and claims before they are applied. */
export const changingOutcomes =
  (change: (outcome: Outcome, storage: MemoryStorage) => Outcome | Promise<Outcome>) =>
  (storage: MemoryStorage): CallWrapper =>
  async (verb, args, call) => {
    const all = (outcomes: readonly Outcome[]): Promise<Outcome[]> =>
      Promise.all(outcomes.map((outcome) => change(outcome, storage)))
    if (verb === 'settle') return storage.settle(await all(args[0] as readonly Outcome[]))
    const request = args[0] as ClaimRequest
    if (verb !== 'claim' || !request.outcomes?.length) return call()
    return storage.claim({ ...request, outcomes: await all(request.outcomes) })
  }

/** Changes the verdicts of settles and claims after the call. */
export const changingVerdicts =
  (change: (verdicts: readonly SettleVerdict[], outcomes: readonly Outcome[]) => readonly SettleVerdict[]) =>
  (): CallWrapper =>
  async (verb, args, call) => {
    const answer = await call()
    if (verb === 'settle') return change(answer as readonly SettleVerdict[], args[0] as readonly Outcome[])
    if (verb !== 'claim') return answer
    const claim = answer as Claim
    return { ...claim, settled: change(claim.settled, (args[0] as ClaimRequest).outcomes ?? []) }
  }

export async function recordOf(storage: MemoryStorage, { type, id }: JobRef): Promise<JobRecord | undefined> {
  const [record] = await storage.get([{ type, id }])
  return record
}

/** The fence of the job's holder, if it has one. */
export async function holderOf(storage: MemoryStorage, ref: JobRef): Promise<LeaseRef | undefined> {
  const record = await recordOf(storage, ref)
  if (record?.worker === undefined) return undefined
  const { type, id, worker, attempt } = record
  return { type, id, worker, attempt }
}

/** The outcome in the name of the holder. */
export const inNameOf = (outcome: Outcome, { worker, attempt }: LeaseRef): Outcome =>
  ({ ...outcome, worker, attempt }) as Outcome

/** A copy without one field. */
export function without<T extends object, Field extends keyof T>(value: T, field: Field): Omit<T, Field> {
  const copy = { ...value }
  delete copy[field]
  return copy
}
