// What stays in the heap after many jobs: adding and working in this process, with a bounded backlog and results that expire at once.

import type { Measure, Variant } from '../case.ts'
import { type Contender, type Session, usualSettings } from '../contender.ts'
import { addWithRoom, Room } from '../feed.ts'
import type { Limits } from '../load.ts'
import { newPlace } from '../place.ts'

/** Jobs as a multiple of the usual number: 1,000,000. A tenth of as many comes before them, as a warm-up. */
const jobsFactor = 50
const warmUpShare = 0.1
/** Longest time: it is not measured. */
const seconds = 300
const backlogLimit = 1_000
const resultTtlMs = 1

/** With the storage, or its client, in this process; not with files, whose syncs would take most of the time. */
export const heap: Variant = {
  name: 'heap',
  isFor: (driver) => driver !== 'file',
  // Of the two durabilities of SQLite one is enough.
  isOf: ({ isPeer, driver, durability }) => !isPeer && !(driver === 'sqlite' && durability === 'full'),
  fillSeconds: seconds,
  run: measure,
}

async function measure(contender: Contender, { jobs }: Limits): Promise<readonly Measure[]> {
  const session = await contender.setup({ ...usualSettings, resultTtlMs }, newPlace())
  const room = new Room(backlogLimit)
  await session.consume(100, { onStart() {}, onCompleted: () => room.leave() })
  const all = jobsFactor * jobs
  const warmUp = Math.floor(warmUpShare * all)
  await through(session, room, 0, warmUp)
  const before = await used(session)
  await through(session, room, warmUp, warmUp + all)
  const after = await used(session)
  await session.close()
  return [
    {
      name: 'growth',
      unit: 'MB',
      value: Math.max(0, (after - before) / 1e6),
      note: `over ${all.toLocaleString('en')} jobs, from ${(before / 1e6).toFixed(1)} MB`,
    },
  ]
}

/** Runs the jobs of these numbers. Resolves when the last has completed. @throws if time runs out */
async function through(session: Session, room: Room, from: number, to: number): Promise<void> {
  const renamed = {
    ...session,
    add: (id: string, payload: Parameters<Session['add']>[1]) => session.add(`${from}/${id}`, payload),
  }
  const added = await addWithRoom(renamed, room, { jobs: to - from, seconds })
  if (added < to - from) throw new Error(`${added} of ${to - from} jobs were added in ${seconds} s`)
  // The last have completed when all of the room is free.
  while (!room.enter(backlogLimit)) await room.next()
  room.leave(backlogLimit)
}

async function used(session: Session): Promise<number> {
  // Until the last results have expired.
  await new Promise<void>((resolve) => void setTimeout(resolve, 10 * resultTtlMs))
  await session.sweep()
  // In separate turns of the event loop: the first frees what the next collect.
  for (let pass = 0; pass < 5; pass++) {
    globalThis.gc!()
    await new Promise<void>((resolve) => void setImmediate(resolve))
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
