// A worker for volume: many slots, short handlers, a log line for each batch of claims and verdicts.

import { type Job, Queue } from 'holdfast'
import type { Claim, ClaimRequest, Outcome, SettleVerdict } from 'holdfast/storage'
import { logFile, noteError, retryUntilDone, sleep, startChild } from '../child.ts'
import { backoffMs } from '../jobs.ts'
import { wrapStorage } from '../wrap-storage.ts'
import { jobOf, type VolumePayload, volumeQueue } from './volume-jobs.ts'
import { type JobAttempt, VolumeLog } from './volume-log.ts'

const child = await startChild()
const { name, leaseMs } = child
const log = new VolumeLog(logFile(child.directory, child.role, child.slot).replace(/\.log$/, '.volume'), name)
/** The attempt of each job that this process holds. */
const attempts = new Map<string, number>()

const storage = wrapStorage(child.storage, async (verb, args, call) => {
  const answer = await call()
  if (verb === 'settle') note(args[0] as readonly Outcome[], answer as readonly SettleVerdict[])
  if (verb !== 'claim') return answer
  const { jobs, settled } = answer as Claim
  note((args[0] as ClaimRequest).outcomes ?? [], settled)
  for (const { id, attempt } of jobs) attempts.set(id, attempt)
  log.batch('c', jobs.map(runOf))
  return answer
})

const queue = new Queue<VolumePayload, number>({
  storage,
  name: volumeQueue,
  workerId: name,
  concurrency: child.volume!.concurrency,
  leaseMs,
  backoff: { type: 'fixed', delayMs: backoffMs },
})
queue.on('error', noteError(child.log))
queue.execute(run)
await retryUntilDone(child.log, () => queue.start())
child.ready()
await child.finish
await queue.stop({ timeout: 5_000 })
process.exit(0)

/** The result is the attempt that made it. */
async function run({ id, payload }: Job<VolumePayload>): Promise<number> {
  const attempt = attempts.get(id)!
  if (payload.ms > 0) await sleep(payload.ms)
  if (payload.failsOnce && attempt === 1) throw new Error('on purpose')
  return attempt
}

function note(outcomes: readonly Outcome[], verdicts: readonly SettleVerdict[]): void {
  const told: Record<'s' | 'f' | 'r', JobAttempt[]> = { s: [], f: [], r: [] }
  outcomes.forEach((outcome, index) => {
    if (!('worker' in outcome)) return
    const verdict = verdicts[index]!
    const mark = verdict.verdict !== 'settled' ? 'r' : verdict.state === 'completed' ? 's' : 'f'
    told[mark].push(runOf(outcome))
    if (attempts.get(outcome.id) === outcome.attempt) attempts.delete(outcome.id)
  })
  log.batch('s', told.s)
  log.batch('f', told.f)
  log.batch('r', told.r)
}

function runOf({ id, attempt }: { readonly id: string; readonly attempt: number }): JobAttempt {
  return { job: jobOf(id), attempt }
}
