// A small line of the last values. It has no axes: the tile names the number, the line its direction.

const [width, height] = [120, 28]

interface SparkProps {
  readonly values: readonly number[]
  readonly tone?: 'red'
}

export function SparkLine({ values, tone }: SparkProps) {
  // One value is a level line, so that the tile has no hole while the next one is awaited.
  if (values.length === 1) return <SparkLine values={[values[0]!, values[0]!]} {...(tone && { tone })} />
  if (values.length === 0) return <svg class="spark" viewBox={`0 0 ${width} ${height}`} aria-hidden="true" />
  // Room above the highest value, so that a steady line is not a full box.
  const highest = 1.5 * Math.max(1, ...values)
  const point = (value: number, index: number): string =>
    `${((index / (values.length - 1)) * width).toFixed(1)},${(height - 2 - (value / highest) * (height - 4)).toFixed(1)}`
  const points = values.map(point).join(' ')
  return (
    <svg
      class={tone ? `spark ${tone}` : 'spark'}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <polygon points={`0,${height} ${points} ${width},${height}`} />
      <polyline points={points} />
    </svg>
  )
}
