// The suite of the sending side, the same on every storage.

import { after, describe } from 'node:test'
import { ackTests } from './acks.ts'
import type { Place } from './bench.ts'
import { discoveryTests } from './discovery.ts'
import { healthTests } from './health.ts'
import { pairTests } from './pair.ts'
import { queueTests } from './queues.ts'
import { replyStepTests } from './reply-steps.ts'
import { rowTests } from './rows.ts'
import { stepTests } from './steps.ts'
import { workerTests } from './workers.ts'
import { World } from './world.ts'

export async function seedTests(place: Place): Promise<void> {
  const world = await new World().start()
  after(() => world.stop())
  describe(`on ${place.name}`, () => {
    queueTests(place, world)
    workerTests(place, world)
    stepTests(place, world)
    replyStepTests(place, world)
    rowTests(place, world)
    ackTests(place, world)
    healthTests(place, world)
    discoveryTests(place, world)
    pairTests(place)
  })
}
