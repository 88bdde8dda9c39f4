// When the jobs of the list were added, as bars by state. A click, or a drag over several bars, narrows the list to that time.

import { useRef, useState } from 'preact/hooks'
import type { JobsHistogram } from '../../../shared/api.ts'
import { formatFilter, parseFilter, type Token } from '../../../shared/filter.ts'
import { instantText } from '../../../shared/instant-text.ts'
import { jobStates } from '../../../shared/states.ts'
import { counted, instant, timeOfDay } from '../../lib/words.ts'
import { useLive } from '../../state/live.ts'
import { setQuery, to } from '../../state/location.ts'

const [width, height, widestBar, day] = [600, 40, 16, 86_400_000]

interface JobHistogramProps {
  readonly q: string | undefined
  readonly sort: string | undefined
}

export function JobHistogram({ q, sort }: JobHistogramProps) {
  const { answer, problem } = useLive<JobsHistogram>(to('histogram', { q, sort }))
  // Its place is kept while it is read, so that the list does not move.
  if (!answer) return problem ? null : <div class="histogram-place" />
  // One bar tells nothing that the list does not.
  return answer.data.points.length > 1 ? <Bars q={q ?? ''} histogram={answer.data} /> : null
}

const bound = (operator: Token['operator'], at: number): Token => ({ key: 'created', operator, value: instantText(at) })

/** First and last bar. */
type Range = readonly [number, number]

function Bars({ q, histogram }: { readonly q: string; readonly histogram: JobsHistogram }) {
  const { points, stepMs, counted: jobs, hasMore } = histogram
  const [marked, setMarked] = useState<Range>()
  const dragFrom = useRef<number | undefined>(undefined)
  const totals = points.map(({ states }) => Object.values(states).reduce((sum, count) => sum + count, 0))
  const highest = Math.max(1, ...totals)
  const step = width / points.length
  const bar = Math.min(widestBar, step * 0.8)
  const end = points.at(-1)!.at + stepMs
  const isShort = end - points[0]!.at <= day
  const timeText = (at: number): string => (isShort ? timeOfDay(at) : instant(at).slice(0, -3))
  const indexAt = (event: PointerEvent): number => {
    const box = (event.currentTarget as Element).getBoundingClientRect()
    const index = Math.floor(((event.clientX - box.left) / box.width) * points.length)
    return Math.min(points.length - 1, Math.max(0, index))
  }
  const mark = (index: number): void => {
    const from = dragFrom.current ?? index
    setMarked([Math.min(from, index), Math.max(from, index)])
  }
  const narrow = ([first, last]: Range): void => {
    const tokens = parseFilter(q).tokens.filter(({ key }) => key !== 'created')
    const range = [bound('>=', points[first]!.at), bound('<', points[last]!.at + stepMs)]
    dragFrom.current = undefined
    setMarked(undefined)
    setQuery({ q: formatFilter([...tokens, ...range]), cursor: undefined })
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (move !== undefined) {
      const index = Math.min(points.length - 1, Math.max(0, (marked?.[1] ?? (move > 0 ? -1 : points.length)) + move))
      setMarked([event.shiftKey && marked ? marked[0] : index, index])
    } else if (event.key === 'Enter' && marked) narrow([Math.min(...marked), Math.max(...marked)])
    else if (event.key === 'Escape') setMarked(undefined)
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  const sumOf = ([first, last]: Range): number => totals.slice(first, last + 1).reduce((sum, count) => sum + count, 0)
  const textOf = (range: Range): string =>
    `${counted(sumOf(range), 'job')} added ${timeText(points[range[0]]!.at)} – ${timeText(points[range[1]]!.at + stepMs)}`
  return (
    <figure class="histogram">
      <figcaption>
        <span class="num" role="status">
          {marked
            ? textOf(marked)
            : `${hasMore ? 'The first ' : ''}${counted(jobs, 'job')} by the time they were added`}
        </span>
        <span class="muted">{marked ? 'Click to show only these' : 'Click or drag to narrow'}</span>
      </figcaption>
      <div
        class="histogram-area"
        role="slider"
        tabIndex={0}
        aria-label="Time of the add. Arrows choose a time, Enter narrows the list to it."
        aria-valuemin={0}
        aria-valuemax={points.length - 1}
        aria-valuenow={marked?.[1] ?? 0}
        aria-valuetext={marked ? textOf(marked) : 'nothing chosen'}
        onKeyDown={onKeyDown}
        onBlur={() => setMarked(undefined)}
        onPointerDown={(event) => {
          if (event.button !== 0) return
          dragFrom.current = indexAt(event)
          event.currentTarget.setPointerCapture(event.pointerId)
          mark(dragFrom.current)
        }}
        onPointerMove={(event) => mark(indexAt(event))}
        onPointerUp={() => marked && dragFrom.current !== undefined && narrow(marked)}
        onPointerCancel={() => {
          dragFrom.current = undefined
          setMarked(undefined)
        }}
        onPointerLeave={() => dragFrom.current === undefined && setMarked(undefined)}
      >
        <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
          {marked && (
            <rect
              class="chart-hover"
              x={Math.min(...marked) * step}
              y="0"
              width={(Math.abs(marked[1] - marked[0]) + 1) * step}
              height={height}
            />
          )}
          {points.map(({ at, states }, index) => {
            let below = 0
            return jobStates.map((state) => {
              const count = states[state] ?? 0
              if (count === 0) return null
              below += count
              const y = height - (below / highest) * (height - 1)
              const tall = (count / highest) * (height - 1)
              return (
                <rect
                  key={`${at} ${state}`}
                  class={`histogram-bar state-${state}`}
                  x={(index + 0.5) * step - bar / 2}
                  y={y}
                  width={bar}
                  height={Math.max(0.8, tall)}
                />
              )
            })
          })}
        </svg>
        <span class="chart-axis num muted" aria-hidden="true">
          <span>{timeText(points[0]!.at)}</span>
          <span>{timeText(end)}</span>
        </span>
      </div>
    </figure>
  )
}
