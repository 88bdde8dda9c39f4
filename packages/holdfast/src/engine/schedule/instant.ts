// An instant in its three forms: epoch ms, Date and ISO text. No time is read here: the clock gives it.

/* oxlint-disable no-restricted-globals -- conversions of a given instant */

export const dateOf = (ms: number): Date => new Date(ms)
export const isoOf = (ms: number): string => new Date(ms).toISOString()
export const msOf = (iso: string): number => Date.parse(iso)
