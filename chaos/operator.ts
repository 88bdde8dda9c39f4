// An operator process: pauses and resumes a type and groups, and redrives failed jobs, by the admin handle. It logs when a pause was
// answered and when a resume is called. A replacement resumes what its predecessor left paused.

import { createAdmin, type Storage } from 'holdfast'
import type { Revival, ReviveVerdict } from 'holdfast/storage'
import { noteError, retryUntilDone, sleep, startChild } from './child.ts'
import { groupKeys, type Payload } from './jobs.ts'
import { isOfStopping } from './points.ts'
import { wrapStorage } from './wrap-storage.ts'

/** Longest time after the faults until every failed job was redriven and has ended, ms. */
const lastRedrivesMs = 30_000

/** Pause after a call without an answer, ms: when the next call is made, the server has received it, or never will. */
const unknownMs = 1_000

interface Target {
  readonly face: 'queue'
  readonly name: string
  readonly group?: string
}

const passing: Target = { face: 'queue', name: 'passing' }
const groups = groupKeys.map((group): Target => ({ face: 'queue', name: 'kept', group }))

const child = await startChild()
const { log, random, point } = child
const admin = createAdmin({ storage: notingRevivals(child.storage), by: child.name })

await Promise.all([passing, ...groups].map(resume))
child.ready()

const finishing = new AbortController()
void child.finish.then(() => finishing.abort())
// To reach a kill point that is part of stopping, the process stops.
if (point !== undefined && isOfStopping(point)) void sleep(random.between(300, 900)).then(() => finishing.abort())

for (let turn = 0; !finishing.signal.aborted; turn++) {
  await holdPaused(turn % 2 === 0 ? passing : random.pick(groups))
  await redrive().catch(noteError(log))
  await sleep(random.between(20, 150))
}
if (point === undefined || !isOfStopping(point)) await redriveLast()
await admin.close()
process.exit(0)

/** Pauses a type or a group for a while. */
async function holdPaused(target: Target): Promise<void> {
  try {
    await admin.pause(target)
    log.write({ what: 'paused', type: target.name, group: target.group })
  } catch (error) {
    noteError(log)(error as Error)
    await sleep(unknownMs)
  }
  await sleep(random.between(150, 600))
  await resume(target)
}

async function resume(target: Target): Promise<void> {
  log.write({ what: 'resuming', type: target.name, group: target.group })
  await retryUntilDone(log, () => admin.resume(target).catch(afterUnknown))
}

async function afterUnknown(error: unknown): Promise<never> {
  await sleep(unknownMs)
  throw error
}

/** Runs the jobs of kind `failing` that have failed again, with a payload with which they complete. */
async function redrive(): Promise<number> {
  const filter = { face: 'queue', name: 'kept', where: { redrive: true } } as const
  return (await admin.redrive(filter, { edit: asEdited }).result).matched
}

function asEdited(payload: unknown): Payload {
  return { ...(payload as Payload), edited: true }
}

/** Redrives until no such job has failed and none waits or runs. */
async function redriveLast(): Promise<void> {
  const until = performance.now() + lastRedrivesMs
  while (performance.now() < until) {
    try {
      const types = await admin.types()
      const live = types.filter(({ face, name }) => face === 'queue' && name === 'kept').some(hasLive)
      if ((await redrive()) === 0 && !live) return
    } catch (error) {
      noteError(log)(error as Error)
    }
    await sleep(100)
  }
}

function hasLive({ states }: { readonly states: Readonly<Record<string, number>> }): boolean {
  return ['scheduled', 'blocked', 'queued', 'processing', 'failing'].some((state) => states[state]! > 0)
}

/** Logs each job that is revived, before the call and with its verdict. */
function notingRevivals(storage: Storage): Storage {
  return wrapStorage(storage, async (verb, args, call) => {
    if (verb !== 'revive') return call()
    const jobs = args[0] as readonly Revival[]
    for (const { id } of jobs) log.write({ what: 'calling', verb, id, edited: true })
    const verdicts = (await call()) as readonly ReviveVerdict[]
    jobs.forEach(({ id }, index) => {
      log.write({ what: 'called', verb, id, edited: true, verdict: verdicts[index]!.verdict })
    })
    return verdicts
  })
}
