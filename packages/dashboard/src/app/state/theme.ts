// Light, dark, or as the system says. The choice is kept in this browser.

import { signal } from '@preact/signals'

const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const key = 'holdfast-theme'

function stored(): Theme {
  try {
    const value = localStorage.getItem(key)
    return themes.find((known) => known === value) ?? 'system'
  } catch {
    // Storage is off in this browser.
    return 'system'
  }
}

export const theme = signal<Theme>(stored())

export function nextTheme(): void {
  theme.value = themes[(themes.indexOf(theme.value) + 1) % themes.length]!
  applyTheme()
  try {
    localStorage.setItem(key, theme.value)
  } catch {
    // It holds until the page is closed.
  }
}

export function applyTheme(): void {
  if (theme.value === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme.value
}
