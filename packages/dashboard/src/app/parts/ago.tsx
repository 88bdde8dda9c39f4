// An instant as an age that keeps itself current; the exact time is in its title.

import { time } from '../lib/clock.ts'
import { ago, instant } from '../lib/words.ts'

export function Ago({ at }: { readonly at: number | undefined }) {
  if (at === undefined) return <span class="muted">–</span>
  return <time title={instant(at)}>{ago(at, time.value)}</time>
}
