// The URL is the state: what a page shows follows from it alone. Back, reload and a shared link work by this.

import { computed, signal } from '@preact/signals'
import { keepPlace, returnToPlace } from './place.ts'

const base = document.querySelector('meta[name="holdfast-base"]')?.getAttribute('content') ?? ''

const current = signal(location.href)
const url = computed(() => new URL(current.value))

/** Path below the base: '/', '/jobs', … */
export const path = computed(() => url.value.pathname.slice(base.length).replace(/\/$/, '') || '/')
export const query = computed(() => url.value.searchParams)

export const hrefOf = (target: string): string => `${base}${target}`

export function navigate(target: string, { replace = false } = {}): void {
  keepPlace(replace)
  history[replace ? 'replaceState' : 'pushState'](null, '', hrefOf(target))
  current.value = location.href
}

/** Changes some parameters and keeps the others. Undefined removes one. */
export function setQuery(
  changes: Readonly<Record<string, string | undefined>>,
  options?: { readonly replace?: boolean },
): void {
  const changed = new URLSearchParams(query.peek())
  for (const [key, value] of Object.entries(changes)) {
    if (value === undefined || value === '') changed.delete(key)
    else changed.set(key, value)
  }
  const text = changed.toString()
  navigate(`${path.peek()}${text === '' ? '' : `?${text}`}`, options)
}

/** A path with parameters: `to('/jobs', { q })`. */
export function to(target: string, parameters: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const text = new URLSearchParams(given).toString()
  return text === '' ? target : `${target}?${text}`
}

export function startRouter(): void {
  addEventListener('popstate', ({ state }) => {
    current.value = location.href
    returnToPlace(state)
  })
  // Links stay plain links, so that they can be copied and opened in a new tab.
  document.addEventListener('click', (event) => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return
    const link = event.target instanceof Element ? event.target.closest('a') : null
    if (!link || link.target !== '' || link.origin !== location.origin || !link.pathname.startsWith(`${base}/`)) return
    event.preventDefault()
    navigate(`${link.pathname.slice(base.length)}${link.search}`)
    scrollTo(0, 0)
  })
}
