// The layout of the keys of a prefix. A version that changes it in a way that others do not understand writes its number into a key; each
// connection reads that key before its first call. A prefix without the key has layout 1, so that nothing is left where nothing is stored.

/** The latest layout that this version knows. */
const layout = 2

export const layoutKey = (prefix: string): string => `{${prefix}}::layout`

/** Why this version must not use the keys, in sentences. @param found the answer of GET */
export function layoutRefusal(prefix: string, found: unknown): string | undefined {
  if (found === null || (Number(found) >= 1 && Number(found) <= layout)) return undefined
  return `The keys of prefix '${prefix}' have layout ${String(found)}, and this version knows layouts up to ${layout}. Use a newer version.`
}
