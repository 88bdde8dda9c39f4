// The address rule: public addresses may be contacted, and ranges that the operator admits.

import { BlockList, isIPv4, isIPv6 } from 'node:net'
import { HoldfastError } from 'holdfast'

const refusedV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]

/** Mapped, compatible, NAT64, unique local, link-local and multicast addresses are all outside this range. */
const publicV6 = '2000::/3'
const refusedV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20']

/** Whether this address may be contacted. */
export type AddressRule = (address: string) => boolean

/** @param allowCidrs ranges that are allowed although they are not public @throws HoldfastError INVALID_ARGUMENT */
export function addressRule(allowCidrs: readonly string[] = []): AddressRule {
  // One list per family: a list of both would match a mapped address (::ffff:127.0.0.1) against the ranges of the other family.
  const admitted = rangesOf(allowCidrs)
  const refused = rangesOf([...refusedV4, ...refusedV6])
  const inside = rangesOf(['0.0.0.0/0', publicV6])
  return (address) => {
    const family = familyOf(address)
    if (family === undefined) return false
    const within = (ranges: Ranges): boolean => ranges[family].check(address, family)
    return within(admitted) || (within(inside) && !within(refused))
  }
}

type Family = 'ipv4' | 'ipv6'
type Ranges = Readonly<Record<Family, BlockList>>

function rangesOf(cidrs: readonly string[]): Ranges {
  const ranges = { ipv4: new BlockList(), ipv6: new BlockList() }
  for (const cidr of cidrs) {
    const slash = cidr.lastIndexOf('/')
    const net = cidr.slice(0, slash)
    const bits = cidr.slice(slash + 1)
    const family = familyOf(net)
    if (family === undefined || !/^\d{1,3}$/.test(bits) || Number(bits) > (family === 'ipv4' ? 32 : 128)) {
      throw new HoldfastError('INVALID_ARGUMENT', `http.allowCidrs: expected ranges like 10.0.0.0/8, got "${cidr}"`)
    }
    ranges[family].addSubnet(net, Number(bits), family)
  }
  return ranges
}

/** An address with a zone (fe80::1%eth0) is link-local, and BlockList does not know zones. */
function familyOf(address: string): Family | undefined {
  if (address.includes('%')) return undefined
  return isIPv4(address) ? 'ipv4' : isIPv6(address) ? 'ipv6' : undefined
}
