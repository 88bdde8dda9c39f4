// How much of something is used.

import { number } from '../lib/words.ts'

interface BarProps {
  readonly used: number
  /** Infinity: there is no bound. */
  readonly of: number
  readonly label: string
}

export function Bar({ used, of, label }: BarProps) {
  const share = of === Infinity || of === 0 ? 0 : Math.min(1, used / of)
  const text = `${number(used)} of ${number(of)}`
  return (
    <span class="bar-line">
      <span class="bar" role="img" aria-label={`${label}: ${text}`}>
        <span class={share >= 1 ? 'bar-fill full' : 'bar-fill'} style={{ width: `${share * 100}%` }} />
      </span>
      <span class="num">
        {number(used)}
        <span class="muted"> / {number(of)}</span>
      </span>
    </span>
  )
}
