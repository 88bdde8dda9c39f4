import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Cron } from 'croner'
import { cronInstants, loadCron } from '../../../src/engine/schedule/cron.ts'
import { instantsOf } from '../../../src/engine/schedule/rule.ts'

const ms = (iso: string): number => Date.parse(iso)

async function after(cron: string, timeZone: string, from: string, count: number): Promise<string[]> {
  const { next } = await instantsOf({ cron, timeZone, everyMs: undefined })
  const found: string[] = []
  for (let at = next(ms(from)); found.length < count; at = next(at!))
    found.push(new Date(at!).toISOString().slice(0, 16))
  return found
}

describe('cron', () => {
  test('[F6] in Europe/Berlin: the end of the gap, the first of a doubled hour, and each half hour once', async () => {
    const berlin = 'Europe/Berlin'
    assert.deepEqual(await after('30 2 * * *', berlin, '2026-03-28T12:00Z', 2), [
      '2026-03-29T01:00',
      '2026-03-30T00:30',
    ])
    assert.deepEqual(await after('30 2 * * *', berlin, '2026-10-24T12:00Z', 2), [
      '2026-10-25T00:30',
      '2026-10-26T01:30',
    ])
    assert.deepEqual(await after('*/30 * * * *', berlin, '2026-10-24T23:59Z', 5), [
      '2026-10-25T00:00',
      '2026-10-25T00:30',
      '2026-10-25T01:00',
      '2026-10-25T01:30',
      '2026-10-25T02:00',
    ])
  })

  test('[F6] 5 fields, 6 with seconds, and names', async () => {
    assert.deepEqual(await after('@daily', 'UTC', '2026-01-01T00:00Z', 1), ['2026-01-02T00:00'])
    assert.deepEqual(await after('0 9 * * 1-5', 'UTC', '2026-01-02T10:00Z', 1), ['2026-01-05T09:00'])
    const { next } = await cronInstants('*/20 * * * * *', 'UTC')
    assert.equal(next(ms('2026-01-01T00:00:20.001Z')), ms('2026-01-01T00:00:40Z'))
    for (const wrong of ['* * * *', '* * * * * * *', '61 * * * *', '']) {
      await assert.rejects(cronInstants(wrong, 'UTC'), { code: 'INVALID_ARGUMENT' })
    }
  })

  test('[F6] a rule that never matches, and an unknown zone, are refused', async () => {
    const never = { cron: '0 0 31 2 *', timeZone: 'UTC', everyMs: undefined }
    await assert.rejects(instantsOf(never), { code: 'INVALID_ARGUMENT', message: /"0 0 31 2 \*"/ })
    await assert.rejects(cronInstants('* * * * *', 'Europe/Atlantis'), { code: 'INVALID_ARGUMENT' })
    const named = { name: 'nightly', cron: 'every day', timeZone: 'UTC', everyMs: undefined }
    const message = `schedule 'nightly': cron: expected a cron expression of 5 or 6 fields, got "every day"`
    await assert.rejects(instantsOf(named), { message })
  })

  test('[F6] without croner, or with one that fails the vectors, the error has the install command', async () => {
    const missing = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
    const refused = { code: 'MISSING_DEPENDENCY', package: 'croner', message: /npm install croner@11/ }
    await assert.rejects(
      loadCron(() => Promise.reject(missing)),
      refused,
    )
    // As croner 10: what falls into the gap is an hour late.
    class Wrong extends Cron {
      override nextRun(from?: Date | string | null): Date | null {
        const next = super.nextRun(from)
        return next?.getTime() === ms('2026-03-29T01:00Z') ? new Date(ms('2026-03-29T01:30Z')) : next
      }
    }
    await assert.rejects(
      loadCron(async () => ({ Cron: Wrong })),
      refused,
    )
    const other = new Error('it throws when it is loaded')
    await assert.rejects(
      loadCron(() => Promise.reject(other)),
      other,
    )
  })

  test('[F9] previous gives the same instants as next, over both changes of a year, from any fraction of a second', async () => {
    for (const [expression, zone] of [
      ['30 2 * * *', 'Europe/Berlin'],
      ['*/30 1-3 * * *', 'America/New_York'],
      ['15 2 * * 0', 'Australia/Lord_Howe'],
    ] as const) {
      const { next, previous } = await cronInstants(expression, zone)
      const [from, to] = [ms('2026-01-01T00:00Z'), ms('2027-01-01T00:00Z')]
      const forward: number[] = []
      for (let at = next(from)!; at < to; at = next(at)!) forward.push(at)
      const back: number[] = []
      for (let at = previous(to)!; at > from; at = previous(at)!) back.push(at)
      assert.deepEqual(back.toReversed(), forward)
      assert.equal(previous(forward[5]! + 1), forward[5])
      assert.equal(previous(forward[5]! + 999), forward[5])
      assert.equal(previous(forward[5]!), forward[4])
      assert.equal(next(forward[5]! - 1), forward[5])
    }
  })
})
