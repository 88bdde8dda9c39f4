// Short notices of what an action did. They leave by themselves, and are read out.

import { signal } from '@preact/signals'
import { after, monotonic } from '../lib/clock.ts'

export interface Notice {
  readonly id: number
  readonly text: string
  readonly isError: boolean
}

export const notices = signal<readonly Notice[]>([])
const [shownMs, sameMs] = [8_000, 1_000]
let lastId = 0
let last: { readonly text: string; readonly at: number } | undefined

export function notify(text: string, isError = false): void {
  // The second click of a double click has the same answer.
  if (last?.text === text && monotonic() - last.at < sameMs) return
  last = { text, at: monotonic() }
  const id = ++lastId
  notices.value = [...notices.value.slice(-3), { id, text, isError }]
  after(shownMs, () => dismiss(id))
}

export function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id)
}
