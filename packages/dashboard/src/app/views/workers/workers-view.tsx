// The workers that are alive, and what each of them runs.

import type { WorkerRow, WorkersPage } from '../../../shared/api.ts'
import { time } from '../../lib/clock.ts'
import { jobHref } from '../../lib/links.ts'
import { counted, duration } from '../../lib/words.ts'
import { Ago } from '../../parts/ago.tsx'
import { Bar } from '../../parts/bar.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { SparkLine } from '../../parts/spark-line.tsx'
import { TypeName } from '../../parts/type-name.tsx'
import { useLive } from '../../state/live.ts'
import { useSamples } from '../../state/samples.ts'

export function WorkersView() {
  const live = useLive<WorkersPage>('workers')
  return (
    <>
      <header class="page-head">
        <h1>Workers</h1>
      </header>
      <Loaded live={live} what="Reading the workers">
        {({ workers, cut, moreRunning }) =>
          workers.length === 0 ? (
            <NoWorkers />
          ) : (
            <>
              <div class="worker-list">
                {workers.map((worker) => (
                  <Worker key={worker.id} worker={worker} />
                ))}
              </div>
              {cut > 0 && <p class="muted">{counted(cut, 'more worker')} are not shown.</p>}
              {moreRunning && <p class="muted">More jobs run than are shown here.</p>}
            </>
          )
        }
      </Loaded>
    </>
  )
}

/** A loop that is so late blocks heartbeats. */
const slowLoopMs = 200
const mostTypes = 12

function Worker({ worker }: { readonly worker: WorkerRow }) {
  const {
    label,
    host,
    pid,
    version,
    types,
    concurrency,
    slotsUsed,
    loopDelayMs,
    startedAt,
    lastSeenAt,
    running,
    isAlone,
  } = worker
  const delays = useSamples(loopDelayMs, lastSeenAt)
  return (
    <section class="panel worker" aria-label={`Worker ${label}`}>
      <header>
        <h2>
          <bdi>{label}</bdi>
        </h2>
        <span class="muted">
          {host} · pid {pid} · holdfast {version}
        </span>
      </header>
      <dl class="facts">
        <div>
          <dt>{isAlone ? 'Slots in use' : 'Slots in use when last seen'}</dt>
          <dd>
            <Bar used={isAlone ? running.length : slotsUsed} of={concurrency} label="Slots in use" />
          </dd>
        </div>
        <div>
          <dt>Loop delay</dt>
          <dd class={loopDelayMs > slowLoopMs ? 'num bad-text' : 'num'}>
            {duration(loopDelayMs)}
            {Math.max(...delays) > 0 && (
              <SparkLine values={delays} {...(loopDelayMs > slowLoopMs && { tone: 'red' })} />
            )}
          </dd>
        </div>
        <div>
          <dt>Last seen</dt>
          <dd class="num">
            <Ago at={lastSeenAt} />
          </dd>
        </div>
        <div>
          <dt>Up for</dt>
          <dd class="num">{duration(time.value - startedAt)}</dd>
        </div>
      </dl>
      <p class="types">
        <span class="muted">Serves</span>{' '}
        {types.slice(0, mostTypes).map((type) => (
          <TypeName key={`${type.face}/${type.name}`} {...type} />
        ))}
        {types.length > mostTypes && <span class="muted">and {types.length - mostTypes} more</span>}
      </p>
      {running.length > 0 && (
        <ul class="running">
          {running.map((job) => (
            <li key={`${job.face}/${job.name}/${job.id}`}>
              <a href={jobHref(job)}>
                <bdi>{job.id}</bdi>
              </a>
              <span class="muted">
                {job.name}
                {job.startedAt !== undefined && `, for ${duration(time.value - job.startedAt)}`}
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function NoWorkers() {
  return (
    <Empty title="No worker is listed">
      <p>
        A process becomes a worker with <code>queue.start()</code>. One with <code>presenceMs: false</code> works
        without being listed.
      </p>
    </Empty>
  )
}
