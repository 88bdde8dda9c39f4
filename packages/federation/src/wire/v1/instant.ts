// Instants in v1: ISO 8601 with a zone, as JSON.stringify() writes a Date.

const iso = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/

/** Returns epoch ms; undefined for any other text, and for a day that does not exist. */
export function instantOf(text: unknown): number | undefined {
  if (typeof text !== 'string' || !iso.test(text)) return undefined
  // oxlint-disable-next-line no-restricted-globals -- parses text; the current time is not read
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : at
}

/** Formats an instant as JSON.stringify() does. */
export function isoOf(at: number): string {
  // oxlint-disable-next-line no-restricted-globals -- formats an instant; the current time is not read
  return new Date(at).toISOString()
}
