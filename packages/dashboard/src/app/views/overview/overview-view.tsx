// Is it well? What is late, what fails, who works.

import type { Overview, Totals, TypeRow } from '../../../shared/api.ts'
import { counted, duration, number, shortNumber } from '../../lib/words.ts'
import { jobsHref } from '../../lib/links.ts'
import { Bar } from '../../parts/bar.tsx'
import { Icon } from '../../parts/icon.tsx'
import { SparkLine } from '../../parts/spark-line.tsx'
import { Empty, Loaded, useSlow } from '../../parts/states.tsx'
import { useLive } from '../../state/live.ts'
import { hrefOf } from '../../state/location.ts'
import { useSamples } from '../../state/samples.ts'
import { FindingStrip } from './finding-strip.tsx'
import { HistoryCharts } from './history-charts.tsx'
import { rateText, useRates } from './rates.ts'
import { TypesTable } from './types-table.tsx'
import { verdictOf } from './verdict.ts'

export function OverviewView() {
  const live = useLive<Overview>('overview')
  return (
    <>
      <header class="page-head">
        <h1>Overview</h1>
      </header>
      <Loaded live={live} what="Reading the counts">
        {(overview) =>
          overview.totals?.types === 0 ? <NewInstall /> : <Filled overview={overview} at={live.answer!.at} />
        }
      </Loaded>
    </>
  )
}

/** What needs no counts is there before the first of them. */
function Filled({ overview: { totals, types, cut }, at }: { readonly overview: Overview; readonly at: number }) {
  return (
    <>
      {totals ? <VerdictStrip types={types} totals={totals} /> : <Counting />}
      <FindingStrip />
      {totals ? <Tiles totals={totals} at={at} /> : <EmptyTiles />}
      <HistoryCharts />
      {totals && <TypesTable types={types} />}
      {cut > 0 && <p class="muted">{counted(cut, 'more type')} need less attention and are not shown.</p>}
    </>
  )
}

function VerdictStrip({ types, totals }: { readonly types: readonly TypeRow[]; readonly totals: Totals }) {
  const { isWell, title, detail } = verdictOf(types, totals)
  return (
    <div class={`verdict ${isWell ? 'well' : 'unwell'}`}>
      <Icon name={isWell ? 'completed' : 'warning'} size={20} />
      <div>
        <strong>{title}</strong>
        <span>{detail}</span>
      </div>
    </div>
  )
}

function Counting() {
  const isSlow = useSlow()
  return (
    <div class="verdict">
      <Icon name="queued" size={20} />
      <div>
        <strong>{isSlow ? 'Counting the jobs…' : '\u00a0'}</strong>
        <span>{isSlow ? 'There are many. The rest of the page does not wait for it.' : '\u00a0'}</span>
      </div>
    </div>
  )
}

function EmptyTiles() {
  return (
    <div class="tiles">
      {['Due now', 'Completed per minute', 'Failed', 'Workers'].map((name) => (
        <div class="tile" key={name}>
          <span class="tile-name">{name}</span>
          <span class="tile-value num">–</span>
          <span class="tile-note">&nbsp;</span>
          <SparkLine values={[]} />
        </div>
      ))}
    </div>
  )
}

function Tiles({ totals, at }: { readonly totals: Totals; readonly at: number }) {
  const { states, due, oldestDueMs, workers, slots } = totals
  const dueSamples = useSamples(totals.due, at)
  const { completed, failing } = useRates()
  return (
    <div class="tiles">
      <a class="tile" href={jobsHref('state:queued,failing')}>
        <span class="tile-name">Due now</span>
        <span class="tile-value num">{shortNumber(due)}</span>
        <span class="tile-note">
          {oldestDueMs === undefined ? 'nothing waits' : `oldest waits ${duration(oldestDueMs)}`}
        </span>
        <SparkLine values={dueSamples} />
      </a>
      <a class="tile" href={jobsHref('state:processing')}>
        <span class="tile-name">Completed per minute</span>
        <span class="tile-value num">{rateText(completed)}</span>
        <span class="tile-note">
          {number(states.processing)} run, {shortNumber(states.scheduled)} scheduled
        </span>
        <SparkLine values={completed.values} />
      </a>
      <a class={states.failed > 0 ? 'tile bad' : 'tile'} href={jobsHref('state:failed')}>
        <span class="tile-name">Failed</span>
        <span class="tile-value num">{shortNumber(states.failed)}</span>
        <span class="tile-note">
          {failing.perMinute === undefined ? '' : `${rateText(failing)} attempts/min, `}
          {shortNumber(states.failing)} to retry
        </span>
        <SparkLine values={failing.values} tone="red" />
      </a>
      <a class={workers === 0 ? 'tile bad' : 'tile'} href={hrefOf('/workers')}>
        <span class="tile-name">Workers</span>
        <span class="tile-value num">{number(workers)}</span>
        <span class="tile-note">{workers === 0 ? 'none is listed' : 'slots in use'}</span>
        {workers > 0 && <Bar used={states.processing} of={slots} label="Slots in use" />}
      </a>
    </div>
  )
}

const firstJob = `import { Queue } from 'holdfast'

const queue = new Queue({ storage, name: 'mail' })
queue.execute(async ({ payload }) => {
  console.log('to', payload.to)
})
await queue.start()
await queue.enqueue('mail-1', { to: 'ada@example.com' })`

function NewInstall() {
  return (
    <Empty title="No job yet">
      <p>Give a queue the storage of this dashboard, and its jobs appear here:</p>
      <pre class="code">{firstJob}</pre>
    </Empty>
  )
}
