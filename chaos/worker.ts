// A worker process: runs jobs, logs every run, and does the upkeep of the storage.

import { type Job, Queue, type QueueSchedule, rateLimited, Reaper } from 'holdfast'
import { noteError, retryUntilDone, sleep, startChild } from './child.ts'
import { driverNamed } from './drivers.ts'
import { attemptOf } from './entries.ts'
import { backoffMs, orderAs, type Payload, passingTtlMs, type Result, queueNames } from './jobs.ts'
import { limitsOf, slowDownMs } from './limits.ts'
import { isOfReaper, isOfStopping } from './points.ts'
import { Reporter } from './reports.ts'
import { everyMs, scheduleName, scheduleQueue } from './schedule.ts'
import { addWithRow } from './user-rows.ts'
import { ClaimRecorder } from './claim-recorder.ts'

const child = await startChild()
const { log, crash, leaseMs, random, point } = child
const { hasRows } = driverNamed(child.driver)
const claimRecorder = new ClaimRecorder(log)
const storage = claimRecorder.wrap(child.storage)

const slots = { kept: 40, passing: 2, limited: 10, rated: 10, swift: 10 }
/** Runs of ordered groups in this process. */
let orderedRuns = 0

const queues = queueNames.map((name) => {
  const queue = new Queue<Payload, Result>({
    storage,
    name,
    workerId: child.name,
    // Enough slots even for the last worker alive: a recovered job should find a free one.
    // Few where jobs have priorities, so that a claim has a choice.
    concurrency: slots[name],
    leaseMs,
    backoff: { type: 'fixed', delayMs: backoffMs },
    resultTTL: name === 'passing' ? passingTtlMs : undefined,
    limits: name in limitsOf ? limitsOf[name as keyof typeof limitsOf] : undefined,
    schedules: name === scheduleQueue ? { [scheduleName]: tick() } : undefined,
  })
  queue.on('error', noteError(log))
  queue.execute(run)
  return queue
})
// Sometimes one worker has a Reaper: recovery must also work without one.
const needsReaper = point !== undefined && isOfReaper(point.step)
const reaper = child.slot === 0 && (needsReaper || random.next() < 0.5) ? newReaper() : undefined

await retryUntilDone(log, () => Promise.all([...queues.map((queue) => queue.start()), reaper?.start()]))
child.ready()

const finishing = new AbortController()
const upkeep = runUpkeep(finishing.signal)
// To reach a kill point that is part of stopping, the process stops.
const stopsSoon = point !== undefined && isOfStopping(point)
await Promise.race([child.finish, ...(stopsSoon ? [sleep(random.between(100, 600))] : [])])
finishing.abort()
await Promise.all([...queues.map((queue) => queue.stop({ timeout: 5_000 })), reaper?.stop()])
await upkeep
process.exit(0)

function tick(): QueueSchedule<Payload> {
  const { payload, maxAttempts } = orderAs('slot', scheduleName, child.seed, leaseMs)
  return { payload, maxAttempts, everyMs, catchUp: 'all' }
}

async function run(job: Job<Payload>): Promise<Result> {
  const { id, payload, attempts } = job
  const { kind, ms, heedsAbort } = payload
  const { fence, runAt, claimedAt } = claimRecorder.claimOf(id)
  const { edited, of: payloadOf } = payload
  log.write({ what: 'started', id, fence, runAt, claimedAt, edited, slotAt: job.schedule?.slotAt, payloadOf })
  const reporter = new Reporter(job, fence, payload.reports)
  reporter.next()
  crash.inHandler('start')
  if (kind === 'poison' && child.poison) crash.now('poison')
  const aborted = Promise.withResolvers<void>()
  job.signal.addEventListener('abort', () => {
    log.write({ what: 'aborted', id, fence, reason: (job.signal.reason as { code: string }).code })
    if (heedsAbort) aborted.resolve()
  })
  await Promise.race([sleep(ms / 2), aborted.promise])
  reporter.next()
  crash.inHandler('middle')
  await Promise.race([sleep(ms / 2), aborted.promise])
  reporter.next()
  log.write({ what: 'ended', id, fence, lines: reporter.lines })
  crash.inHandler('end')
  if (heedsAbort) job.signal.throwIfAborted()
  const isOfOrder = kind === 'grouped' && ++orderedRuns % 3 === 0
  if (isOfOrder || (kind === 'failing' && !edited) || (kind === 'retry' && attempts === 1))
    throw new Error('on purpose')
  slowDownSometimes(job, fence)
  if (kind === 'ordered' && hasRows) await follow(id, fence)
  return { fence }
}

/** The service behind a job with limits says "not now", to one run in ten. */
function slowDownSometimes({ id, payload: { kind } }: Job<Payload>, fence: string): void {
  const scope = kind === 'rated' ? 'type' : kind === 'limited' ? 'group' : undefined
  if (!scope || random.next() > 1 / 10) return
  log.write({ what: 'slowed', id, fence, scope, ms: slowDownMs })
  throw rateLimited({ retryAfterMs: slowDownMs, scope })
}

/** Adds another job with a user row for each run that reaches this step. If the add fails, the run fails. */
async function follow(of: string, fence: string): Promise<void> {
  const id = `${of}-followed-${attemptOf(fence)}`
  const { maxAttempts, queue, payload, priority } = orderAs('followed', id, child.seed, leaseMs)
  log.write({ what: 'asked', id, type: queue, kind: 'followed', maxAttempts, delayMs: 0, priority })
  log.write({ what: 'acked', id, status: await addWithRow(storage, { id, payload, maxAttempts }) })
}

/** Calls that a Queue makes rarely or not at all, made often here, so that kills hit them. */
async function runUpkeep(over: AbortSignal): Promise<void> {
  const { kv } = storage
  const key = ['seen', child.name]
  const operatorCalls = [
    () => storage.sweep({ limit: 100 }),
    () => kv.set(key, Buffer.from(child.name), { ttlMs: passingTtlMs }),
    () => kv.get(key),
    () => kv.list(['seen'], { limit: 10 }),
    () => kv.delete(key),
  ]
  for (let turn = 0; !over.aborted; turn++) {
    await operatorCalls[turn % operatorCalls.length]!().catch(noteError(log))
    await sleep(random.between(20, 120))
  }
}

function newReaper(): Reaper {
  return new Reaper({
    storage,
    name: queueNames,
    checkInterval: 200,
    leaderElection: { enabled: true, lockTTL: leaseMs, renewalInterval: 100, acquireRetryInterval: 200 },
  }).on('error', noteError(log))
}
