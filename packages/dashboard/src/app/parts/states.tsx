// What a view shows instead of data: that they come, that they failed, or that there are none and what to do then.

import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { after } from '../lib/clock.ts'
import type { Live } from '../state/live.ts'
import { Icon } from './icon.tsx'

/** False for 300 ms: most answers come earlier, and a flash of a placeholder is noise. */
export function useSlow(): boolean {
  const [isSlow, setSlow] = useState(false)
  useEffect(() => after(300, () => setSlow(true)), [])
  return isSlow
}

function Loading() {
  const isSlow = useSlow()
  return <div class="empty">{isSlow ? <p class="muted">Reading the storage…</p> : null}</div>
}

export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  )
}

export function Problem({
  what,
  problem,
}: {
  readonly what: string
  readonly problem: { readonly code: string; readonly error: string }
}) {
  return (
    <div class="problem" role="alert">
      <Icon name="warning" />
      <div>
        <strong>
          {what} failed ({problem.code}).
        </strong>{' '}
        {problem.error} {problem.code === 'INVALID_ARGUMENT' ? '' : 'It is tried again by itself.'}
      </div>
    </div>
  )
}

interface LoadedProps<T> {
  readonly live: Live<T>
  /** The call, for the sentence of a problem. */
  readonly what: string
  readonly children: (data: T) => ComponentChildren
}

/** Data with their problem above them, if there is one: old data stay visible. */
export function Loaded<T>({ live: { answer, problem }, what, children }: LoadedProps<T>) {
  return (
    <>
      {problem && <Problem what={what} problem={problem} />}
      {answer ? children(answer.data) : problem ? null : <Loading />}
    </>
  )
}
