// A small chart over time, as SVG: stacked bars, or lines. The figures are also in a table, for people who do not see it.

import { useState } from 'preact/hooks'

interface Series {
  readonly name: string
  /** Class of its colour. */
  readonly tone: string
  /** Undefined: nothing was measured. */
  readonly values: readonly (number | undefined)[]
}

interface ChartProps {
  readonly title: string
  readonly kind: 'bars' | 'lines'
  readonly series: readonly Series[]
  /** Begin of each point, epoch ms. */
  readonly times: readonly number[]
  /** Drawn as lines over the whole height. Those of a point are told with its figures. */
  readonly marks?: readonly { readonly at: number; readonly text: string }[]
  readonly timeText: (at: number) => string
  readonly valueText: (value: number) => string
}

const [width, height] = [600, 120]

export function Chart({ title, kind, series, times, marks = [], timeText, valueText }: ChartProps) {
  const [hovered, setHovered] = useState<number>()
  const count = times.length
  const totals = times.map((_, index) => heightAt(series, kind, index))
  const highest = niceCeiling(Math.max(0, ...totals))
  const step = width / Math.max(1, count)
  const y = (value: number): number => height - (value / highest) * (height - 2)
  const textOf = (value: number | undefined): string => (value === undefined ? '–' : valueText(value))
  const hover = (event: PointerEvent): void => {
    const box = (event.currentTarget as Element).getBoundingClientRect()
    setHovered(Math.min(count - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * count))))
  }
  const markOf = (index: number): string | undefined => marks.find(({ at }) => at === times[index])?.text
  const valueOf = ({ values }: Series): number | undefined =>
    hovered === undefined ? overall(values, kind) : values[hovered]
  return (
    <figure class="panel chart">
      <figcaption>
        <strong>{title}</strong>
        <span class="chart-legend num">
          <span class="muted">
            {hovered === undefined ? (kind === 'bars' ? 'in all' : 'at last') : timeText(times[hovered]!)}
          </span>
          {series.map((one) => (
            <span key={one.name}>
              <span class={`swatch ${one.tone}`} /> {one.name} {textOf(valueOf(one))}
            </span>
          ))}
          {hovered !== undefined && markOf(hovered) !== undefined && <span>{markOf(hovered)}</span>}
        </span>
      </figcaption>
      <div class="chart-area" onPointerMove={hover} onPointerLeave={() => setHovered(undefined)}>
        <span class="chart-scale num" aria-hidden="true">
          {valueText(highest)}
        </span>
        <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
          <path class="chart-grid" d={`M0 1H${width}M0 ${height / 2}H${width}M0 ${height - 0.5}H${width}`} />
          {hovered !== undefined && <rect class="chart-hover" x={hovered * step} y="0" width={step} height={height} />}
          {times.map((at, index) =>
            markOf(index) === undefined ? null : (
              <path key={at} class="chart-mark" d={`M${(index + 0.5) * step} 0V${height}`} />
            ),
          )}
          {kind === 'bars'
            ? times.map((at, index) => (
                <StackedBar key={at} series={series} index={index} x={index * step} step={step} y={y} />
              ))
            : series.map(({ name, tone, values }) => (
                <path key={name} class={`chart-line ${tone}`} d={lineOf(values, step, y)} />
              ))}
        </svg>
        <span class="chart-axis num muted" aria-hidden="true">
          <span>{timeText(times[0]!)}</span>
          <span>now</span>
        </span>
      </div>
      {/* Inside a box: a table is as wide as its text, whatever its own width says. */}
      <div class="hidden-text">
        <table>
          <caption>{title}</caption>
          <thead>
            <tr>
              <th scope="col">Time</th>
              {series.map(({ name }) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {times.map((at, index) =>
              totals[index] === 0 ? null : (
                <tr key={at}>
                  <th scope="row">{timeText(at)}</th>
                  {series.map(({ name, values }) => (
                    <td key={name}>{textOf(values[index])}</td>
                  ))}
                  {markOf(index) !== undefined && <td>{markOf(index)}</td>}
                </tr>
              ),
            )}
          </tbody>
        </table>
      </div>
    </figure>
  )
}

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

/** A round number of at least 1. */
function niceCeiling(value: number): number {
  if (value <= 1) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((factor) => factor * power).find((bound) => bound >= value)!
}
