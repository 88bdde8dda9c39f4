// A chart over time, as SVG: stacked bars, or lines, with axes. The figures of a point are shown at the pointer, and by the arrow keys;
// all of them are in a table, too, for people who do not see the chart.

import { useState } from 'preact/hooks'
import { zoneOffsetMs } from '../lib/clock.ts'
import { timeTicks, valueTicks } from '../../shared/ticks.ts'
import { ChartTable } from './chart-table.tsx'
import { ChartTip } from './chart-tip.tsx'

interface Series {
  readonly name: string
  /** Class of its colour. */
  readonly tone: string
  /** Undefined: nothing was measured. */
  readonly values: readonly (number | undefined)[]
}

export interface ChartProps {
  readonly title: string
  /** Bars count something, lines are lengths of time in ms. */
  readonly kind: 'bars' | 'lines'
  readonly series: readonly Series[]
  /** Begin of each point, epoch ms. */
  readonly times: readonly number[]
  /** From one point to the next. */
  readonly stepMs: number
  /** Drawn as lines over the whole height. Those of a point are told with its figures. */
  readonly marks?: readonly { readonly at: number; readonly text: string }[]
  /** Of a mark on the axis. */
  readonly tickText: (at: number) => string
  /** Of a point. */
  readonly timeText: (at: number) => string
  readonly valueText: (value: number) => string
}

const [width, height] = [600, 120]
const mostTimeTicks = 6
/** Part of the axis at its end that has the word `now`; on narrow screens. */
const [nowPlace, narrowNowPlace] = [0.15, 0.22]

export function Chart(props: ChartProps) {
  const { title, kind, series, times, stepMs, marks = [], tickText, valueText } = props
  const [hovered, setHovered] = useState<number>()
  const count = times.length
  const highest = Math.max(0, ...times.map((_, index) => heightAt(series, kind, index)))
  const values = valueTicks(highest, kind === 'bars' ? 'count' : 'length')
  const top = values.at(-1)!
  const [from, end] = [times[0]!, times.at(-1)! + stepMs]
  const step = width / Math.max(1, count)
  const y = (value: number): number => height - (value / top) * height
  const percent = (at: number): string => `${(((at - from) / (end - from)) * 100).toFixed(2)}%`
  const hover = (event: PointerEvent): void => {
    const box = (event.currentTarget as Element).getBoundingClientRect()
    setHovered(Math.min(count - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * count))))
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (move !== undefined) setHovered(Math.min(count - 1, Math.max(0, (hovered ?? (move < 0 ? count : -1)) + move)))
    else if (event.key === 'Escape') setHovered(undefined)
    else return
    event.preventDefault()
  }
  const markOf = (index: number): string | undefined => marks.find(({ at }) => at === times[index])?.text
  const sums = series.map(({ name, values: all }) => `${name} ${textOf(overall(all, kind), valueText)}`).join(', ')
  return (
    <figure class="panel chart">
      <figcaption>
        <strong>{title}</strong>
        <span class="chart-legend num">
          {series.map((one) => (
            <span key={one.name}>
              <span class={`swatch ${one.tone}`} /> {one.name}{' '}
              <span class="muted">{textOf(overall(one.values, kind), valueText)}</span>
            </span>
          ))}
          {marks.length > 0 && (
            <span>
              <span class="swatch mark-swatch" /> workers began
            </span>
          )}
        </span>
      </figcaption>
      <div class="chart-body">
        <span class="chart-values num muted" aria-hidden="true">
          {values.map((value) => (
            <span key={value} style={{ bottom: `${(value / top) * 100}%` }}>
              {value === 0 ? '0' : valueText(value)}
            </span>
          ))}
        </span>
        <div
          class="chart-area"
          role="img"
          tabIndex={0}
          aria-label={`${title}: ${kind === 'bars' ? 'in all' : 'at last'} ${sums}. Arrows show the figures of a time; all are in the table after it.`}
          onPointerMove={hover}
          onPointerDown={hover}
          onPointerLeave={() => setHovered(undefined)}
          onKeyDown={onKeyDown}
          onBlur={() => setHovered(undefined)}
        >
          <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
            <path class="chart-grid" d={values.map((value) => `M0 ${y(value)}H${width}`).join('')} />
            {hovered !== undefined && (
              <rect class="chart-hover" x={hovered * step} y="0" width={step} height={height} />
            )}
            {times.map((at, index) =>
              markOf(index) === undefined ? null : (
                <path key={at} class="chart-mark" d={`M${(index + 0.5) * step} 0V${height}`} />
              ),
            )}
            {kind === 'bars'
              ? times.map((at, index) => (
                  <StackedBar key={at} series={series} index={index} x={index * step} step={step} y={y} />
                ))
              : series.map((one) => (
                  <path key={one.name} class={`chart-line ${one.tone}`} d={lineOf(one.values, step, y)} />
                ))}
          </svg>
          {hovered !== undefined && (
            <ChartTip {...props} index={hovered} place={(hovered + 0.5) / count} mark={markOf(hovered)} />
          )}
        </div>
        <span class="chart-times num muted" aria-hidden="true">
          {timeTicks(from, end - (end - from) * nowPlace, mostTimeTicks, zoneOffsetMs(end)).map((at) => (
            <span
              key={at}
              class={at > end - (end - from) * narrowNowPlace ? 'late' : undefined}
              style={{ left: percent(at) }}
            >
              {tickText(at)}
            </span>
          ))}
          <span class="chart-now">now</span>
        </span>
      </div>
      <ChartTable {...props} markOf={markOf} />
    </figure>
  )
}

export const textOf = (value: number | undefined, valueText: (value: number) => string): string =>
  value === undefined ? '–' : valueText(value)

interface StackedBarProps {
  readonly series: readonly Series[]
  readonly index: number
  readonly x: number
  readonly step: number
  readonly y: (value: number) => number
}

function StackedBar({ series, index, x, step, y }: StackedBarProps) {
  let below = 0
  return (
    <>
      {series.map(({ name, tone, values }) => {
        const value = values[index] ?? 0
        if (value === 0) return null
        const from = below
        below += value
        return (
          <rect
            key={name}
            class={`chart-bar ${tone}`}
            x={x + step * 0.1}
            y={y(below)}
            width={step * 0.8}
            height={Math.max(1, y(from) - y(below))}
          />
        )
      })}
    </>
  )
}

function heightAt(series: readonly Series[], kind: ChartProps['kind'], index: number): number {
  const values = series.map(({ values: all }) => all[index] ?? 0)
  return kind === 'bars' ? values.reduce((sum, value) => sum + value, 0) : Math.max(0, ...values)
}

/** A gap where nothing was measured; a single point is a short stroke. */
function lineOf(values: readonly (number | undefined)[], step: number, y: (value: number) => number): string {
  let path = ''
  let isOpen = false
  values.forEach((value, index) => {
    if (value === undefined) {
      isOpen = false
      return
    }
    const middle = (index + 0.5) * step
    if (!isOpen) path += `M${(middle - step * 0.4).toFixed(1)} ${y(value).toFixed(1)}`
    path += `L${(middle + (values[index + 1] === undefined ? step * 0.4 : 0)).toFixed(1)} ${y(value).toFixed(1)}`
    isOpen = true
  })
  return path
}

/** Of bars the sum, of lines the last value. */
function overall(values: Series['values'], kind: ChartProps['kind']): number | undefined {
  if (kind === 'lines') return values.findLast((value) => value !== undefined)
  return values.reduce<number>((sum, value) => sum + (value ?? 0), 0)
}
