// How far a page was scrolled when it was left: back returns to that place. The browser alone cannot, because a page is short until its
// data are there.

import { after } from '../lib/clock.ts'

/** A page that has not become tall enough by then stays at its top. */
const longestMs = 2_000
let stop: (() => void) | undefined

/** Before another page is shown. @param isReplaced the page is not returned to */
export function keepPlace(isReplaced: boolean): void {
  stop?.()
  if (!isReplaced) history.replaceState({ top: scrollY }, '')
}

/** @param state of the entry of the history that is shown now */
export function returnToPlace(state: unknown): void {
  stop?.()
  const top = (state as { top?: unknown } | null)?.top
  if (typeof top !== 'number' || top === 0) return
  const observer = new ResizeObserver(() => {
    if (document.documentElement.scrollHeight - innerHeight < top) return
    scrollTo(0, top)
    stop?.()
  })
  const cancel = after(longestMs, () => stop?.())
  // A person who scrolls meanwhile is not moved.
  const left = new AbortController()
  for (const kind of ['wheel', 'touchmove', 'keydown']) addEventListener(kind, () => stop?.(), { signal: left.signal })
  stop = () => {
    stop = undefined
    observer.disconnect()
    cancel()
    left.abort()
  }
  observer.observe(document.body)
}
