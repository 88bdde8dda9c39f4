// Ranges of addresses: what one client or operator usually has many addresses of.

import { isIP, isIPv4 } from 'node:net'

/** Removes a zone, and turns a mapped address into IPv4. Undefined if the text is not an address. */
export function plainAddress(text: string): string | undefined {
  const address = text.replace(/%.*$/, '').replace(/^::ffff:(?=\d+\.)/i, '')
  return isIP(address) === 0 ? undefined : address
}

/** Returns the IPv6 network with so many groups of 16 bits. @param address a plain IPv6 address */
export function ipv6Network(address: string, groups: 3 | 4): string {
  // The URL parser writes each address in one canonical way, with the longest run of zeros as `::`.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const all = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => '0'), ...after]
  return `${all.slice(0, groups).join(':')}::/${groups * 16}`
}

/** Returns the range that an operator easily has many addresses of: an IPv4 /24 or an IPv6 /48. Undefined without an address. */
export function operatorRange(text: string | undefined): string | undefined {
  const address = text === undefined ? undefined : plainAddress(text)
  if (address === undefined) return undefined
  return isIPv4(address) ? `${address.split('.').slice(0, 3).join('.')}.0/24` : ipv6Network(address, 3)
}
