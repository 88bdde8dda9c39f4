// The keyboard. A view registers its keys while it is shown; the keys of the shell work everywhere. Fields keep their own keys.

import { useEffect, useRef } from 'preact/hooks'
import { after } from '../lib/clock.ts'

export type Keys = Readonly<Record<string, (event: KeyboardEvent) => void>>

const active: { readonly current: Keys }[] = []
/** A `g` waits this long for the second key. */
const sequenceMs = 1_500
let prefix = ''
let cancelPrefix: (() => void) | undefined

export function useKeys(keys: Keys): void {
  // Set while it renders: an effect runs only after the next frame, and a fast typist would meet the keys of the render before.
  const latest = useRef(keys)
  latest.current = keys
  useEffect(() => {
    active.push(latest)
    return () => void active.splice(active.indexOf(latest), 1)
  }, [])
}

export function startKeys(): void {
  document.addEventListener('keydown', (event) => {
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      isField(event.target) ||
      document.querySelector('dialog[open]')
    )
      return
    const pressed = `${prefix}${event.key}`
    cancelPrefix?.()
    prefix = ''
    if (event.key === 'g' && pressed === 'g') {
      prefix = 'g '
      cancelPrefix = after(sequenceMs, () => (prefix = ''))
      return
    }
    const handler = active.findLast(({ current }) => Object.hasOwn(current, pressed))?.current[pressed]
    if (!handler) return
    // Enter on a link or button is its own.
    if (event.key === 'Enter' && event.target instanceof Element && event.target.closest('a, button, summary')) return
    event.preventDefault()
    handler(event)
  })
}

const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) &&
  !(target instanceof HTMLInputElement && target.type === 'checkbox')
