// The figures of a chart as a table, for people who do not see it.

import { type ChartProps, textOf } from './chart.tsx'

interface ChartTableProps extends ChartProps {
  readonly markOf: (index: number) => string | undefined
}

export function ChartTable({ title, series, times, timeText, valueText, markOf }: ChartTableProps) {
  return (
    // Inside a box: a table is as wide as its text, whatever its own width says.
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
            series.every(({ values }) => (values[index] ?? 0) === 0) ? null : (
              <tr key={at}>
                <th scope="row">{timeText(at)}</th>
                {series.map(({ name, values }) => (
                  <td key={name}>{textOf(values[index], valueText)}</td>
                ))}
                {markOf(index) !== undefined && <td>{markOf(index)}</td>}
              </tr>
            ),
          )}
        </tbody>
      </table>
    </div>
  )
}
