// Instants as the filter writes them. No time is read here.

/* oxlint-disable no-restricted-globals -- conversions of a given instant */

const instantPattern = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)?)?$/

/** Epoch ms of a date, or of a time with its offset. Without one it is UTC, so that a link means the same to everyone. */
export function instantOf(text: string): number | undefined {
  if (!instantPattern.test(text)) return undefined
  const hasZone = text.length === 10 || /(?:Z|[+-]\d\d:\d\d)$/.test(text)
  const at = Date.parse(hasZone ? text : `${text}Z`)
  return Number.isNaN(at) || at < 0 ? undefined : at
}

/** An instant as `created` takes it, with as many digits as it needs. */
export function instantText(at: number): string {
  return new Date(at)
    .toISOString()
    .replace(/\.000Z$/, 'Z')
    .replace(/:00Z$/, 'Z')
}
