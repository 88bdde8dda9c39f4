import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pointsOf } from '../src/server/views/histogram.ts'

const at = (text: string): number => Date.parse(text)

test('bars have a round length, no gaps, and every job', () => {
  const start = at('2026-03-29T03:00:07Z')
  const jobs = Array.from({ length: 200 }, (_, n) => ({
    createdAt: start + n * 10_000,
    state: n % 2 === 0 ? ('failed' as const) : ('queued' as const),
  }))
  const { stepMs, points } = pointsOf(jobs)
  assert.equal(stepMs, 60_000)
  assert.equal(points[0]!.at, at('2026-03-29T03:00:00Z'))
  points.forEach((point, index) => assert.equal(point.at, points[0]!.at + index * stepMs))
  assert.equal(
    points.reduce((sum, { states }) => sum + (states.failed ?? 0) + (states.queued ?? 0), 0),
    200,
  )
})

test('one instant is one bar; years are bars of days; none is nothing', () => {
  assert.deepEqual(pointsOf([]).points, [])
  assert.deepEqual(pointsOf([{ createdAt: 1_500, state: 'queued' }]), {
    stepMs: 1_000,
    points: [{ at: 1_000, states: { queued: 1 } }],
  })
  const years = pointsOf([
    { createdAt: 0, state: 'completed' },
    { createdAt: at('2026-01-01'), state: 'failed' },
  ])
  assert.ok(years.points.length <= 48, `${years.points.length} bars`)
  assert.equal(years.stepMs % 86_400_000, 0)
  assert.deepEqual(years.points.at(-1)!.states, { failed: 1 })
})
