import { previewSlots } from '../../../src/engine/schedule/preview.ts'
import { resolveRule } from '../../../src/engine/schedule/schedule.ts'
import type { Target } from '../fuzz.ts'
import { Defect } from '../fuzz.ts'
import { mutated } from '../mutate.ts'

const valid = [
  '* * * * *',
  '*/5 * * * *',
  '0 8 * * 1-5',
  '30 2 29 2 *',
  '0 0 30 2 *',
  '15 10 L * ?',
  '0 12 * * MON#2',
  '0 0 1 JAN,JUL *',
  '*/10 * * * * *',
  '0 9-17/2 * * *',
  '@daily',
  '@hourly',
  '0 0 LW * *',
]
const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu']
const now = 1_767_225_600_000

/** Rules of schedules: what is accepted has slots that ascend, after now. */
export const cron = (): Target => ({
  input: (random) => ({
    cron: mutated(random, valid),
    timeZone: random.below(10) === 0 ? mutated(random, zones) : random.pick(zones),
  }),
  async run(input) {
    const slots = await previewSlots(resolveRule('rule', input as never), now, 3)
    let last = now
    for (const { at } of slots) {
      if (!(at > last)) throw new Defect(`the slot ${at} is not after ${last}`)
      last = at
    }
  },
})
