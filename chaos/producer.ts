// A producer process: asks for jobs under ids of its own and writes down what it asked and what it was told. What those
// before it in its slot left without an answer, it asks for again, under the same id.

import { readFileSync } from 'node:fs'
import { isHoldfastError, Queue } from 'holdfast'
import { logFile, noteError, persistently, sleep, startChild } from './child.ts'
import { driverNamed } from './drivers.ts'
import { Errands } from './errands.ts'
import { entriesOf } from './entries.ts'
import { type Order, orderOf, passingTtlMs, type Payload, type QueueName, queueNames, type Result } from './jobs.ts'
import { isOfStopping } from './points.ts'
import { notingRepeats } from './repeats.ts'
import { addAndUndo, addWithRow } from './user-rows.ts'

/** Longer than any of the faults, shorter than a run. */
const waitMs = 30_000

/** Of those with a row, how many are asked for and rolled back first. */
const undoneShare = 0.25

const child = await startChild()
const { log, random, point } = child
const { hasRows } = driverNamed(child.driver)
const storage = notingRepeats(child.storage, log)
const queues = Object.fromEntries(queueNames.map((name) => [name, newQueue(name)])) as Record<
  QueueName,
  Queue<Payload, Result>
>
const errands = new Errands(child, queues.kept)
const underWay = new Set<Promise<void>>()

const finishing = new AbortController()
const over = finishing.signal
void child.finish.then(() => finishing.abort())
// To come to a point that lies in stopping, it stops.
if (point !== undefined && isOfStopping(point)) {
  void sleep(random.between(300, 900)).then(() => finishing.abort())
}

await Promise.all(Object.values(queues).map((queue) => persistently(log, () => queue.start())))
child.ready()
for (const id of leftOpen()) begin(orderOf(id, child.seed, child.leaseMs))
const running = errands.run(over)
for (let number = 1; !over.aborted; number++) {
  const order = orderOf(`${child.name}-${number}`, child.seed, child.leaseMs)
  begin(order)
  // Evenly on average, in bursts now and then.
  if (random.next() > 0.3) await sleep((random.between(0, 2) * 1_000) / (0.7 * child.rate))
  while (!over.aborted && (errands.hasBacklog || underWay.size > 200)) await sleep(20)
}
await Promise.all([running, ...underWay])
await Promise.all(Object.values(queues).map((queue) => queue.stop({ timeout: 1_000 })))
process.exit(0)

function newQueue(name: QueueName): Queue<Payload, Result> {
  const resultTTL = name === 'passing' ? passingTtlMs : undefined
  const { name: workerId } = child
  return new Queue<Payload, Result>({ storage, name, workerId, resultTTL }).on('error', noteError(log))
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

/** Until there is an answer: a refusal may have happened all the same. */
async function ask(order: Order): Promise<void> {
  const { id, queue, maxAttempts, payload, delayMs } = order
  for (;;) {
    log.write({ what: 'asked', id, type: queue, kind: payload.kind, maxAttempts, delayMs })
    try {
      const status = await answerTo(order)
      log.write({ what: 'acked', id, status })
      errands.accepted(order)
      return
    } catch (error) {
      const code = isHoldfastError(error) ? error.code : 'UNTYPED'
      log.write({ what: 'refused', id, code, message: (error as Error).message })
      // Anything but trouble with the storage is a bug, and ends the run.
      if (code !== 'STORAGE_ERROR' && code !== 'STORAGE_CLOSED') throw error
      await sleep(100)
    }
  }
}

async function answerTo(order: Order): Promise<string> {
  const { kind } = order.payload
  if (kind === 'request') return request(order)
  if (kind !== 'ordered' || !hasRows) return enqueue(order)
  // The first of each producer in any case.
  if (order.id.endsWith('-1') || random.next() < undoneShare) await undo(order)
  return addWithRow(storage, order)
}

async function undo(order: Order): Promise<void> {
  const id = `${order.id}-undone`
  log.write({ what: 'undoing', id })
  await addAndUndo(storage, { ...order, id })
}

async function enqueue({ id, queue, payload, maxAttempts, delayMs }: Order): Promise<string> {
  return (await queues[queue].enqueue(id, payload, { maxAttempts, delayMs })).status
}

/** Whatever its end, the job was accepted. */
async function request({ id, payload, maxAttempts }: Order): Promise<string> {
  try {
    const { fence } = await queues.kept.enqueueAndWait(id, payload, { maxAttempts, timeout: waitMs })
    log.write({ what: 'answered', id, fence })
    return 'answered'
  } catch (error) {
    if (isHoldfastError(error, 'JOB_FAILED')) return 'failed'
    if (!isHoldfastError(error, 'TIMEOUT')) throw error
    log.write({ what: 'waitTimedOut', id })
    // Waited for in vain, and not known to have been accepted: the plain question tells.
    return (await queues.kept.enqueue(id, payload, { maxAttempts })).status
  }
}
