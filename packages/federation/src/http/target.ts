// Parses the URL of a request, and refuses what can be refused without a DNS lookup.

import { FederationError } from '../errors.ts'

export interface Target {
  /** Scheme, host and port. Connections are pooled by it. */
  readonly origin: string
  /** Value of the Host header. */
  readonly host: string
  /** Host name or IP literal; an IPv6 literal has no brackets here. */
  readonly hostname: string
  readonly port: number
  readonly secure: boolean
  /** Path and query. */
  readonly path: string
}

export interface TargetRule {
  readonly allowHttp: boolean
  readonly allowPorts: ReadonlySet<number>
}

/** @throws FederationError ORIGIN_INVALID, ADDRESS_REFUSED (scheme, port) */
export function targetOf(text: string, { allowHttp, allowPorts }: TargetRule): Target {
  if (!URL.canParse(text)) throw invalid('it is not a URL')
  const url = new URL(text)
  const secure = url.protocol === 'https:'
  if (!secure && url.protocol !== 'http:') throw refused(`the scheme ${url.protocol} is not supported`)
  if (!secure && !allowHttp) throw refused('http is not allowed (http.allowHttp)')
  if (url.username !== '' || url.password !== '') throw invalid('it has user info')
  if (url.hash !== '') throw invalid('it has a fragment')
  if (url.hostname.endsWith('.')) throw invalid('its host ends with a dot')
  if (url.hostname.length > 253) throw invalid('its host is longer than 253 characters')
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port)
  if (url.port !== '' && !allowPorts.has(port)) throw refused(`port ${port} is not allowed (http.allowPorts)`)
  return {
    origin: url.origin,
    host: url.host,
    hostname: url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname,
    port,
    secure,
    path: url.pathname + url.search,
  }
}

/** The messages do not quote the URL: its query may hold a secret. */
function invalid(why: string): FederationError {
  return new FederationError('ORIGIN_INVALID', `The URL of the request is invalid: ${why}. Nothing was sent.`)
}

function refused(why: string): FederationError {
  return new FederationError('ADDRESS_REFUSED', `The URL of the request is refused: ${why}. Nothing was sent.`)
}
