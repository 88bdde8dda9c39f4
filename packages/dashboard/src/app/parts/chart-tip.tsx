// The figures of one point of a chart, in a box beside it.

import { type ChartProps, textOf } from './chart.tsx'

interface ChartTipProps extends ChartProps {
  readonly index: number
  /** Of the point, from 0 at the left to 1 at the right. */
  readonly place: number
  readonly mark: string | undefined
}

export function ChartTip({ series, times, timeText, valueText, index, place, mark }: ChartTipProps) {
  const isRight = place > 0.5
  return (
    <span
      class="chart-tip num"
      style={isRight ? { right: `calc(${(1 - place) * 100}% + 12px)` } : { left: `calc(${place * 100}% + 12px)` }}
    >
      <span class="muted">{timeText(times[index]!)}</span>
      {series.map(({ name, tone, values }) => (
        <span key={name} class="chart-tip-line">
          <span>
            <span class={`swatch ${tone}`} /> {name}
          </span>
          <strong>{textOf(values[index], valueText)}</strong>
        </span>
      ))}
      {mark !== undefined && <span>{mark}</span>}
    </span>
  )
}
