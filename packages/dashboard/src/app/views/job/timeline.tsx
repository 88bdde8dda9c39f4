// The life of a job as bars on one axis.

import type { JobPageData } from '../../../shared/api.ts'
import { type Span, timelineOf } from '../../../shared/timeline.ts'
import { time } from '../../lib/clock.ts'
import { duration, instant, timeOfDay } from '../../lib/words.ts'

const words: Readonly<Record<Span['kind'], string>> = {
  waiting: 'waited',
  backoff: 'waited for a retry',
  running: 'has run',
  completed: 'completed',
  failed: 'failed',
  released: 'released',
}

export function Timeline({ job }: { readonly job: JobPageData }) {
  const spans = timelineOf(job, time.value)
  const [first, last] = [spans[0], spans.at(-1)]
  if (!first || !last) return null
  const length = Math.max(1, last.to - first.from)
  const runs = spans.filter(({ attempt, kind }) => attempt !== undefined || kind === 'running')
  return (
    <section class="panel timeline" aria-label="Timeline">
      <div class="lane">
        {spans.map((span, index) => (
          <span
            key={index}
            class={`span ${span.kind}${span.isOpen ? ' open' : ''}`}
            style={{
              // A short span at the end stays visible.
              left: `min(${((span.from - first.from) / length) * 100}%, calc(100% - 3px))`,
              width: `${((span.to - span.from) / length) * 100}%`,
            }}
            title={`${textOf(span)}\n${instant(span.from)} – ${span.isOpen ? 'now' : instant(span.to)}`}
          />
        ))}
      </div>
      <div class="axis num">
        <span>{instant(first.from)}</span>
        <span>{duration(length)}</span>
        <span>{last.isOpen ? 'now' : timeOfDay(last.to)}</span>
      </div>
      <ol class="legend">
        <li>
          <span class="swatch waiting" /> waiting
        </li>
        {spans.some(({ kind }) => kind === 'backoff') && (
          <li>
            <span class="swatch backoff" /> waiting for a retry
          </li>
        )}
        {runs.slice(-5).map((span, index) => (
          <li key={index}>
            <span class={`swatch ${span.kind}`} /> {textOf(span)}
          </li>
        ))}
      </ol>
    </section>
  )
}

function textOf({ kind, attempt, workerId, from, to }: Span): string {
  const which = attempt === undefined ? '' : `run ${attempt} `
  return `${which}${words[kind]}${kind === 'running' ? ' for' : attempt === undefined ? '' : ' after'} ${duration(to - from)}${workerId === undefined ? '' : ` on ${workerId}`}`
}
