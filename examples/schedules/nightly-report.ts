// A report at 3:00 in Berlin, through the change to summer time, a day of downtime and a deployment. The days pass on a fake clock.

import { MemoryStorage, Queue, type QueueSchedule } from 'holdfast'
import { fakeClock } from 'holdfast/testing'

const hourMs = 3_600_000
const clock = fakeClock({ now: Date.parse('2026-03-28T00:00Z') })
const storage = new MemoryStorage({ clock })

/** One deployed version of the program. */
async function deploy(release: number, schedules: Readonly<Record<string, QueueSchedule<string>>>) {
  const queue = new Queue<string>({ storage, clock, name: 'reports', release, schedules })
  queue.execute(({ payload, schedule }) => {
    const slot = new Date(schedule!.slotAt!).toISOString().slice(5, 16)
    console.log(`release ${release}: ${payload} for ${slot}, at ${new Date(clock.now()).toISOString().slice(5, 16)}`)
  })
  await queue.start()
  return queue
}

const nightly = { payload: 'sales', cron: '0 3 * * *', timeZone: 'Europe/Berlin' } as const
const first = await deploy(1, { nightly })
for (const { local } of await first.schedules.preview('nightly', 2)) console.log(`next: ${local}`)
await clock.advance(36 * hourMs)

// Two nights without a process: by default, the newest slot is made up for.
await first.stop()
await clock.advance(48 * hourMs)
const second = await deploy(2, { nightly: { ...nightly, payload: 'sales and stock' } })
console.log('a changed schedule has no missed slots')
await clock.advance(24 * hourMs)
await second.stop()
await clock.advance(48 * hourMs)
await second.start()
await clock.advance(hourMs)
await second.stop()
