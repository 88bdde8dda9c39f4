// Where a request comes from, as far as that can be believed: the connection, or what our own proxies say of it.

import { BlockList, isIP, isIPv4 } from 'node:net'
import { HoldfastError } from 'holdfast'

export type ClientAddress = (remoteAddress: string | undefined, forwardedFor: string | null) => string

/**
 * Answers with the key of a budget: an IPv4 address, or the 64 bits of an IPv6 network, since who has one address there has
 * them all.
 * @param trustedProxies addresses and ranges @throws HoldfastError INVALID_ARGUMENT
 */
export function clientAddress(trustedProxies: readonly string[]): ClientAddress {
  const trusted = new BlockList()
  for (const proxy of trustedProxies) addTo(trusted, proxy)
  const isTrusted = (address: string): boolean => trusted.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
  return (remoteAddress, forwardedFor) => {
    let address = plain(remoteAddress ?? '')
    if (address === undefined) return 'unknown'
    // From the last on: each was added by the one after it, and the first may be anything.
    const hops = forwardedFor === null ? [] : forwardedFor.split(',')
    while (isTrusted(address) && hops.length > 0) {
      const before = plain(hops.pop()!.trim())
      if (before === undefined) break
      address = before
    }
    return isIPv4(address) ? address : network(address)
  }
}

function addTo(list: BlockList, range: string): void {
  const [address = '', prefix] = range.split('/')
  const family = isIP(address)
  const bits = prefix === undefined ? (family === 4 ? 32 : 128) : Number(prefix)
  if (family === 0 || !Number.isInteger(bits) || bits < 0 || bits > (family === 4 ? 32 : 128)) {
    throw new HoldfastError('INVALID_ARGUMENT', `trustedProxies: expected addresses and ranges, got ${range}`)
  }
  list.addSubnet(address, bits, family === 4 ? 'ipv4' : 'ipv6')
}

/** Without a zone; an IPv4 address that came as IPv6 as what it is. Undefined: none. */
function plain(text: string): string | undefined {
  const address = text.replace(/%.*$/, '').replace(/^::ffff:(?=\d+\.)/i, '')
  return isIP(address) === 0 ? undefined : address
}

function network(address: string): string {
  // The parser of URLs writes an address in one way, with the longest run of zeros left out.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const groups = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => '0'), ...after]
  return `${groups.slice(0, 4).join(':')}::/64`
}
