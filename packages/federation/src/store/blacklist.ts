// blacklisted_servers: by origin, or by domain: a host and all below it, whatever the scheme and port.

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

/** Of an origin, or a bare name. */
function hostOf(serverUrl: string): string {
  return URL.canParse(serverUrl) ? new URL(serverUrl).hostname : serverUrl.toLowerCase()
}

/** A domain is stored under its name alone. */
const withoutPort = (serverUrl: string): string => `https://${hostOf(serverUrl)}`

/** The host, and what it lies below. */
function domainsOf(host: string): string[] {
  if (host.startsWith('[') || isIP(host) !== 0) return [host]
  const labels = host.split('.')
  return labels.map((_, index) => labels.slice(index).join('.'))
}
