// A past for the sample: what operators did, and an hour of work, as workers would have written it.

import { createAdmin, type Storage } from 'holdfast'
import { encodeRollup, newTally, spanKey } from '../../../holdfast/src/engine/history/rollup.ts'

export async function actAsOperators(storage: Storage): Promise<void> {
  const admin = createAdmin({ storage })
  const [ada, grace] = [admin.as('ada@example.com'), admin.as('grace@example.com')]
  await grace.jobs.retry({ face: 'queue', name: 'mail', id: 'mail-12' })
  await ada.limits.set({ face: 'queue', name: 'invoices', group: 'acme' }, { limit: 1 })
  await ada.limits.set({ face: 'queue', name: 'webhooks' }, { concurrency: 20, rate: { limit: 1_000, perMs: 60_000 } })
  await admin.audit.record({
    by: 'eve@example.com',
    what: 'POST /admin/jobs/api/jobs/remove: This needs the permission remove.',
    refused: true,
  })
  await admin.close()
}

/** Minutes of the last hour: waves of mails, a bad quarter of an hour. */
export async function writePastHour(storage: Storage): Promise<void> {
  const now = Date.now()
  await storage.connect()
  for (let minute = 1; minute < 60; minute++) {
    const tally = newTally()
    const isBad = minute >= 18 && minute < 30
    tally.completed = Math.round(180 + 90 * Math.sin(minute / 7) + 25 * Math.sin(minute * 1.7)) - (isBad ? 60 : 0)
    tally.retried = isBad ? 40 + ((minute * 7) % 25) : (minute * 3) % 5
    tally.failed = isBad ? 6 + (minute % 9) : 0
    const slow = isBad ? 2 : 0
    tally.wait[1 + slow] = 150
    tally.wait[2 + slow] = 40
    tally.wait[4 + slow] = (minute % 6) + 2
    tally.run[2] = 180
    tally.ranMs = tally.completed * 62
    const [images, invoices] = [newTally(), newTally()]
    images.completed = 4 + (minute % 3)
    images.ranMs = images.completed * 2_350
    invoices.completed = 9
    invoices.ranMs = invoices.completed * 140
    const types = new Map([
      ['queue.mail', tally],
      ['queue.thumbnails', images],
      ['queue.invoices', invoices],
    ])
    const at = now - minute * 60_000
    await storage.kv.set(spanKey('minute', at), encodeRollup(types), { ttlMs: 86_400_000 })
  }
  await storage.disconnect()
}
