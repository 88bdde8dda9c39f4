// A row of block characters: the newest value on the right, the highest one full. What was not measured yet is empty.

const blocks = [...'▁▂▃▄▅▆▇█']

/** @param columns how many of the last values are shown */
export function sparkline(values: readonly number[], columns: number): string {
  const shown = values.slice(-columns)
  const highest = Math.max(0, ...shown)
  const drawn = shown.map((value) =>
    highest === 0
      ? blocks[0]!
      : blocks[Math.min(blocks.length - 1, Math.ceil((value / highest) * (blocks.length - 1)))]!,
  )
  return drawn.join('').padStart(columns)
}
