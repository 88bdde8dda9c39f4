// Addresses and URLs that must never be contacted, and public ones that may be (these tests contact none).

/** Splits the lines into words, without comments after #. */
const words = (text: string): readonly string[] => text.replaceAll(/#.*/g, '').split(/\s+/).filter(Boolean)

export const hostileAddresses = words(`
  # v4, range by range, its first and its last where the neighbours are public
  0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.1 127.1.2.3 127.255.255.255
  169.254.0.0 169.254.169.254 172.16.0.0 172.31.255.255 192.0.0.0 192.0.0.170 192.0.2.1 192.31.196.1 192.52.193.1
  192.88.99.1 192.168.0.0 192.168.255.255 192.175.48.1 198.18.0.0 198.19.255.255 198.51.100.7 203.0.113.200
  224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
  # unspecified, loopback, mapped, compatible, translated the old way
  :: ::1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:7f00:1 ::127.0.0.1 ::8.8.8.8 ::ffff:0:8.8.8.8
  # NAT64, its well-known prefix and the local one; 6to4; Teredo
  64:ff9b::7f00:1 64:ff9b::8.8.8.8 64:ff9b:1::1 2002:7f00:1:: 2002:808:808::1 2001::1
  # benchmarking, ORCHID, the end of 2001::/23, documentation
  2001:2::1 2001:10::1 2001:20::1 2001:1ff:ffff::1 2001:db8::1 3fff::1 3fff:fff::1
  # AS112, discard, unique local, link-local, site-local, multicast, segment routing, never assigned
  2620:4f:8000::1 100::1 fc00::1 fd12:3456::1 fe80::1 fec0::1 ff02::1 ff0e::1 5f00::1
  4000::1 1fff:ffff::1 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
`)

export const publicAddresses = words(`
  1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255
  169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.0.3.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0
  203.0.112.255 203.0.114.0 223.255.255.255
  2001:200::1 2001:4860:4860::8888 2003::1 2606:4700:4700::1111 2620:4f:7fff::1 2a00::1 3ffe::1
`)

/** Host names and addresses of this machine and its network, as a URL may contain them. */
const hostileHosts = words(`
  # 127.0.0.1 as it is, short, hex, octal, decimal, mixed, with a dot behind, in other digits, escaped
  127.0.0.1 127.1 127.0.1 0x7f.0.0.1 0x7f000001 0177.0.0.1 0177.0.0.01 017700000001 2130706433 0x7f.1 127.0x0.0.1
  127.0.0.1. １２７.０.０.１ ①②⑦.⓪.⓪.① 127。0。0。1 %31%32%37.0.0.1
  # others
  0 0.0.0.0 0x0 169.254.169.254 0xa9fea9fe 2852039166 10.1 192.168.257
  [::1] [::] [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1] [::ffff:7f00:1] [::127.0.0.1] [64:ff9b::127.0.0.1] [2002:7f00:1::]
  [fe80::1] [fc00::1]
  # names that resolve to loopback
  loopback.test LOOPBACK.test ip6.loopback.test
`)

/** URL, and the code it is refused with, by a client that allows http and the ports named here: the host alone decides. */
export function hostileUrls(port: number): readonly (readonly [url: string, code: string])[] {
  const byHost = [...hostileHosts, '127.0.0\t.1'].map((host) => [`http://${host}:${port}/`, 'ADDRESS_REFUSED'] as const)
  const others = [
    [`http://loopback.test.:${port}/`, 'ORIGIN_INVALID'],
    [`http://user@127.0.0.1:${port}/`, 'ORIGIN_INVALID'],
    [`http://user:secret@public.test:${port}/`, 'ORIGIN_INVALID'],
    [`http://:secret@public.test:${port}/`, 'ORIGIN_INVALID'],
    [`http://public.test:${port}@127.0.0.1:${port}/`, 'ORIGIN_INVALID'],
    [`http://public.test:${port}/#@127.0.0.1`, 'ORIGIN_INVALID'],
    [`http://127.0.0.1:${port}\\@public.test/`, 'ADDRESS_REFUSED'],
    [`http:\\\\127.0.0.1:${port}\\`, 'ADDRESS_REFUSED'],
    [`http:127.0.0.1:${port}`, 'ADDRESS_REFUSED'],
    [` http://127.0.0.1:${port}/ `, 'ADDRESS_REFUSED'],
    [`//127.0.0.1:${port}/`, 'ORIGIN_INVALID'],
    [`127.0.0.1:${port}`, 'ORIGIN_INVALID'],
    ['http://[fe80::1%25lo]/', 'ORIGIN_INVALID'],
    ['http://256.0.0.1/', 'ORIGIN_INVALID'],
    [`http://${'a'.repeat(60)}.${'b.'.repeat(100)}test:${port}/`, 'ORIGIN_INVALID'],
    ['', 'ORIGIN_INVALID'],
    ['http://', 'ORIGIN_INVALID'],
    ['http://public.test:22/', 'ADDRESS_REFUSED'],
    ['http://public.test:6379/', 'ADDRESS_REFUSED'],
    ['http://public.test:0/', 'ADDRESS_REFUSED'],
    ['http://public.test:65536/', 'ORIGIN_INVALID'],
    ['file:///etc/passwd', 'ADDRESS_REFUSED'],
    ['ftp://127.0.0.1/', 'ADDRESS_REFUSED'],
    [`gopher://127.0.0.1:${port}/_x`, 'ADDRESS_REFUSED'],
    ['data:text/plain,x', 'ADDRESS_REFUSED'],
    ['unix:/var/run/docker.sock', 'ADDRESS_REFUSED'],
    [`ws://127.0.0.1:${port}/`, 'ADDRESS_REFUSED'],
    ['javascript:0', 'ADDRESS_REFUSED'],
  ] as const
  return [...byHost, ...others]
}
