// The site of a server: what one operator can easily have many of counts as one. A name counts by its registrable domain, an address by its
// range. Without a list of public suffixes the registrable domain is a guess: the last two labels, or three where the second is
// as short as `co` in `co.uk`. Where the guess is too wide, fewer servers of that suffix are chosen.

import { operatorRange } from '../http/address-range.ts'

/** @param origin canonical */
export function siteOf(origin: string): string {
  const { hostname } = new URL(origin)
  const range = operatorRange(hostname.replace(/^\[|\]$/g, ''))
  if (range !== undefined) return range
  const labels = hostname.split('.')
  const [second = '', top = ''] = labels.slice(-2)
  const isSuffix = top.length === 2 && second.length <= 3
  return labels.slice(isSuffix ? -3 : -2).join('.')
}
