// A producer process: adds jobs under its own ids and logs each call and its answer. It repeats the calls
// that its predecessors in the slot left without an answer, under the same ids.

import { readFileSync } from 'node:fs'
import { isHoldfastError, Queue } from 'holdfast'
import { logFile, noteError, retryUntilDone, sleep, startChild } from './child.ts'
import { driverNamed } from './drivers.ts'
import { OperatorCalls } from './operator-calls.ts'
import { entriesOf } from './entries.ts'
import {
  burstOf,
  type Order,
  orderOf,
  passingTtlMs,
  type Payload,
  type QueueName,
  queueNames,
  type Result,
} from './jobs.ts'
import { deduplicationOf, type Key, keyOf } from './keys.ts'
import { machineMs } from './log.ts'
import { isOfStopping } from './points.ts'
import { notingRepeats } from './repeats.ts'
import { addAndUndo, addWithRow } from './user-rows.ts'

/** Longer than any fault, shorter than a run. */
const waitMs = 30_000

/** Share of jobs with a user row that are first added and rolled back. */
const undoneShare = 0.25

const child = await startChild()
const { log, random, point } = child
const { hasRows } = driverNamed(child.driver)
const storage = notingRepeats(child.storage, log)
const queues = Object.fromEntries(queueNames.map((name) => [name, newQueue(name)])) as Record<
  QueueName,
  Queue<Payload, Result>
>
const operatorCalls = new OperatorCalls(child, queues.kept)
const underWay = new Set<Promise<void>>()

const finishing = new AbortController()
const over = finishing.signal
void child.finish.then(() => finishing.abort())
// To reach a kill point that is part of stopping, the process stops.
if (point !== undefined && isOfStopping(point)) {
  void sleep(random.between(300, 900)).then(() => finishing.abort())
}

await Promise.all(Object.values(queues).map((queue) => retryUntilDone(log, () => queue.start())))
child.ready()
for (const id of leftOpen()) begin(orderOf(id, child.seed, child.leaseMs))
const running = operatorCalls.run(over)
for (let number = 1; !over.aborted; number++) {
  const ids = burstOf(`${child.name}-${number}`, child.seed)
  for (const id of ids) begin(orderOf(id, child.seed, child.leaseMs))
  // At an even rate, with occasional bursts.
  if (random.next() > 0.3) await sleep((random.between(0, 2) * ids.length * 1_000) / (0.7 * child.rate))
  while (!over.aborted && (operatorCalls.hasBacklog || underWay.size > 200)) await sleep(20)
}
await Promise.all([running, ...underWay])
await Promise.all(Object.values(queues).map((queue) => queue.stop({ timeout: 1_000 })))
process.exit(0)

function newQueue(name: QueueName): Queue<Payload, Result> {
  const resultTTL = name === 'passing' ? passingTtlMs : undefined
  const { name: workerId } = child
  const searchFields = { redrive: 'boolean' } as const
  return new Queue<Payload, Result>({ storage, name, workerId, resultTTL, searchFields }).on('error', noteError(log))
}

function leftOpen(): ReadonlySet<string> {
  const open = new Set<string>()
  for (const entry of entriesOf(readFileSync(logFile(child.directory, child.role, child.slot), 'utf8'))) {
    if (entry.what === 'asked') open.add(entry.id)
    if (entry.what === 'acked') open.delete(entry.id)
  }
  return open
}

function begin(order: Order): void {
  const work = ask(order).finally(() => underWay.delete(work))
  underWay.add(work)
}

/** Repeats until there is an answer: a failed call may have been applied. */
async function ask(order: Order): Promise<void> {
  const { id, queue, maxAttempts, payload, delayMs, priority, weight, mode } = order
  const { key: group, ordered } = order.group ?? {}
  for (;;) {
    const key = mode && keyOf(mode, Math.floor(machineMs()))
    const given = { maxAttempts, delayMs, priority, group, ordered, weight, key }
    log.write({ what: 'asked', id, type: queue, kind: payload.kind, ...given })
    try {
      log.write({ what: 'acked', id, ...(await answerTo(order, key)) })
      operatorCalls.accepted(order)
      return
    } catch (error) {
      const code = isHoldfastError(error) ? error.code : 'UNTYPED'
      log.write({ what: 'refused', id, code, message: (error as Error).message })
      // Any error but a StorageError is a bug and ends the run.
      if (code !== 'STORAGE_ERROR' && code !== 'STORAGE_CLOSED') throw error
      await sleep(100)
    }
  }
}

interface Answer {
  readonly status: string
  /** The id of another job that has the deduplication key. */
  readonly standing?: string
}

async function answerTo(order: Order, key: Key | undefined): Promise<Answer> {
  const { kind } = order.payload
  if (kind === 'request') return { status: await request(order) }
  if (kind !== 'ordered' || !hasRows) return enqueue(order, key)
  // Always for the first of each producer.
  if (order.id.endsWith('-1') || random.next() < undoneShare) await undo(order)
  return { status: await addWithRow(storage, order) }
}

async function undo(order: Order): Promise<void> {
  const id = `${order.id}-undone`
  log.write({ what: 'undoing', id })
  await addAndUndo(storage, { ...order, id })
}

async function enqueue(order: Order, key: Key | undefined): Promise<Answer> {
  const { id, queue, payload, maxAttempts, delayMs, priority, group, weight } = order
  const given = {
    maxAttempts,
    // A debounced job has a time of its own.
    delayMs: key?.mode === 'debounce' ? undefined : delayMs,
    priority,
    group,
    weight,
    deduplication: key && deduplicationOf(key),
    // By it the operator finds the jobs to redrive.
    search: payload.kind === 'failing' ? { redrive: true } : undefined,
  }
  const answer = await queues[queue].enqueue(id, payload, given)
  const { status } = answer
  return 'id' in answer && answer.id !== id ? { status, standing: answer.id } : { status }
}

/** The job was accepted, whatever its end. */
async function request({ id, payload, maxAttempts }: Order): Promise<string> {
  try {
    const { fence } = await queues.kept.enqueueAndWait(id, payload, { maxAttempts, timeout: waitMs })
    log.write({ what: 'answered', id, fence })
    return 'answered'
  } catch (error) {
    if (isHoldfastError(error, 'JOB_FAILED')) return 'failed'
    if (!isHoldfastError(error, 'TIMEOUT')) throw error
    log.write({ what: 'waitTimedOut', id })
    // The wait timed out, and the acceptance is unknown: a plain enqueue answers it.
    return (await queues.kept.enqueue(id, payload, { maxAttempts })).status
  }
}
