// What workers did over time: how many jobs ended and how, and how long jobs waited and ran.

import { type HistoryPage, type HistoryRange, historyRanges } from '../../../shared/api.ts'
import { duration, number } from '../../lib/words.ts'
import { Chart } from '../../parts/chart.tsx'
import { useLive } from '../../state/live.ts'
import { query, setQuery, to } from '../../state/location.ts'

import { BusiestTypes } from './busiest-types.tsx'

const clock = new Intl.DateTimeFormat('sv-SE', { timeStyle: 'short' })
const day = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short' })
const dayAndTime = (at: number): string => `${day.format(at)}, ${clock.format(at)}`

const titles: Readonly<Record<HistoryRange, string>> = {
  '15m': '15 min',
  '1h': '1 hour',
  '24h': '24 hours',
  '30d': '30 days',
}

export function HistoryCharts() {
  const given = query.value.get('range')
  const range = historyRanges.find((known) => known === given) ?? '1h'
  const live = useLive<HistoryPage>(to('history', { range }))
  const history = live.answer?.data
  return (
    <section class="history" aria-label="History">
      <div class="history-head">
        <h2>What workers did</h2>
        <div class="segments" role="group" aria-label="Range">
          {historyRanges.map((one) => (
            <button
              key={one}
              type="button"
              class="small"
              aria-pressed={one === range}
              onClick={() => setQuery({ range: one === '1h' ? undefined : one }, { replace: true })}
            >
              {titles[one]}
            </button>
          ))}
        </div>
      </div>
      <div class="charts">{history && <Charts history={history} range={range} />}</div>
      {history && <BusiestTypes types={history.types} />}
    </section>
  )
}

interface ChartsProps {
  readonly history: HistoryPage
  readonly range: HistoryRange
}

function Charts({ history: { points, stepMs, marks }, range }: ChartsProps) {
  const times = points.map(({ at }) => at)
  const tickText = (at: number): string => (range === '30d' ? day : clock).format(at)
  const timeText = range === '30d' || range === '24h' ? dayAndTime : (at: number): string => clock.format(at)
  const isEmpty = points.every(({ completed, retried, failed }) => completed + retried + failed === 0)
  if (isEmpty) {
    return (
      <p class="panel muted chart-empty">
        No attempt ended in this time. Workers write what they did every 10 s, and when they stop.
      </p>
    )
  }
  const per = stepMs === 60_000 ? 'minute' : 'hour'
  return (
    <>
      <Chart
        title={`Attempts ended per ${per}`}
        kind="bars"
        times={times}
        stepMs={stepMs}
        marks={marks}
        tickText={tickText}
        timeText={timeText}
        valueText={number}
        series={[
          { name: 'completed', tone: 'tone-green', values: points.map(({ completed }) => completed) },
          { name: 'to retry', tone: 'tone-amber', values: points.map(({ retried }) => retried) },
          { name: 'failed', tone: 'tone-red', values: points.map(({ failed }) => failed) },
        ]}
      />
      <Chart
        title="Wait from due to start"
        kind="lines"
        times={times}
        stepMs={stepMs}
        marks={marks}
        tickText={tickText}
        timeText={timeText}
        valueText={duration}
        series={[
          { name: 'half within', tone: 'tone-blue', values: points.map(({ wait }) => wait?.p50) },
          { name: '99 % within', tone: 'tone-violet', values: points.map(({ wait }) => wait?.p99) },
        ]}
      />
    </>
  )
}
