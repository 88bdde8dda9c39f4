// The table blacklisted_servers: blocks by origin, or by domain (a host and its subdomains, with any scheme and port).

import { isIP } from 'node:net'
import { blacklistRowOf } from './rows.ts'
import type { BlacklistStore } from './store.ts'
import type { Tables } from './tables.ts'

export function blacklistTable({ statements, read, write }: Tables): BlacklistStore {
  const sql = statements.blacklist
  return {
    async matching(origin) {
      const names = domainsOf(hostOf(origin)).flatMap((domain) => [`https://${domain}`, `http://${domain}`, domain])
      const [row] = await read(sql.matching(names.length), [origin, ...names])
      return row && blacklistRowOf(row)
    },
    async add({ serverUrl, match, reason, createdAt }) {
      await write(sql.add, [match === 'domain' ? withoutPort(serverUrl) : serverUrl, match, reason, createdAt])
    },
    async remove(serverUrl) {
      return (await write(sql.remove, [serverUrl, withoutPort(serverUrl)])).length > 0
    },
    async list() {
      return (await read(sql.list, [])).map(blacklistRowOf)
    },
  }
}

/** Returns the host of an origin, or a bare name in lower case. */
function hostOf(serverUrl: string): string {
  return URL.canParse(serverUrl) ? new URL(serverUrl).hostname : serverUrl.toLowerCase()
}

/** A domain is stored as https and its name, without a port. */
const withoutPort = (serverUrl: string): string => `https://${hostOf(serverUrl)}`

/** Returns the host and its parent domains. An IP address has none. */
function domainsOf(host: string): string[] {
  if (host.startsWith('[') || isIP(host) !== 0) return [host]
  const labels = host.split('.')
  return labels.map((_, index) => labels.slice(index).join('.'))
}
