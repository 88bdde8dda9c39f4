// The address of a client: that of the connection or, behind trusted proxies, that of X-Forwarded-For.

import { BlockList, isIP, isIPv4 } from 'node:net'
import { HoldfastError } from 'holdfast'
import { ipv6Network, plainAddress } from '../http/address-range.ts'

export type ClientAddress = (remoteAddress: string | undefined, forwardedFor: string | null) => string

/**
 * Returns a function that gives the key of a client's budget: its IPv4 address, or its IPv6 /64 network. A /64 usually belongs to
 * one client, which can use any address in it.
 * @param trustedProxies addresses and ranges @throws HoldfastError INVALID_ARGUMENT
 */
export function clientAddress(trustedProxies: readonly string[]): ClientAddress {
  const trusted = new BlockList()
  for (const proxy of trustedProxies) addTo(trusted, proxy)
  const isTrusted = (address: string): boolean => trusted.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
  return (remoteAddress, forwardedFor) => {
    let address = plainAddress(remoteAddress ?? '')
    if (address === undefined) return 'unknown'
    // From the last to the first: each proxy appends the address before it, and a client may have set the first ones.
    const hops = forwardedFor === null ? [] : forwardedFor.split(',')
    while (isTrusted(address) && hops.length > 0) {
      const before = plainAddress(hops.pop()!.trim())
      if (before === undefined) break
      address = before
    }
    return isIPv4(address) ? address : ipv6Network(address, 4)
  }
}

function addTo(list: BlockList, range: string): void {
  const [address = '', prefix] = range.split('/')
  const family = isIP(address)
  const bits = prefix === undefined ? (family === 4 ? 32 : 128) : Number(prefix)
  if (family === 0 || !Number.isInteger(bits) || bits < 0 || bits > (family === 4 ? 32 : 128)) {
    throw new HoldfastError('INVALID_ARGUMENT', `inbound.trustedProxies: expected addresses and ranges, got "${range}"`)
  }
  list.addSubnet(address, bits, family === 4 ? 'ipv4' : 'ipv6')
}
