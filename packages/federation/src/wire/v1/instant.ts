// Instants as v1 writes them: ISO 8601 with a zone, as JSON makes of a Date.

const iso = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/

/** Epoch ms. Undefined for everything else, a day that does not exist included. */
export function instantOf(text: unknown): number | undefined {
  if (typeof text !== 'string' || !iso.test(text)) return undefined
  // oxlint-disable-next-line no-restricted-globals -- reads a text; what time it is now is not asked
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : at
}

/** As JSON writes a Date. */
export function isoOf(at: number): string {
  // oxlint-disable-next-line no-restricted-globals -- writes an instant; what time it is now is not asked
  return new Date(at).toISOString()
}
