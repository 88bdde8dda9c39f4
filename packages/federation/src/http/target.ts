// A URL that may be asked, taken apart: what can be decided about it without a lookup is decided here.

import { FederationError } from '../errors.ts'

export interface Target {
  /** Scheme, host and port: whose connections are used. */
  readonly origin: string
  /** As a Host header has it. */
  readonly host: string
  /** Of an IPv6 literal without its brackets. */
  readonly hostname: string
  readonly port: number
  readonly secure: boolean
  /** With the query. */
  readonly path: string
}

export interface TargetRule {
  readonly allowHttp: boolean
  readonly allowPorts: ReadonlySet<number>
}

/** @throws FederationError ORIGIN_INVALID, ADDRESS_REFUSED (scheme, port) */
export function targetOf(text: string, { allowHttp, allowPorts }: TargetRule): Target {
  if (!URL.canParse(text)) throw invalid('it is no URL')
  const url = new URL(text)
  const secure = url.protocol === 'https:'
  if (!secure && url.protocol !== 'http:') throw refused(`the scheme ${url.protocol} is not spoken`)
  if (!secure && !allowHttp) throw refused('http is not allowed (http.allowHttp)')
  if (url.username !== '' || url.password !== '') throw invalid('it holds user info')
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

/** The URL itself is not said: it may hold what is nobody's business. */
function invalid(why: string): FederationError {
  return new FederationError('ORIGIN_INVALID', `This URL cannot be asked: ${why}.`)
}

function refused(why: string): FederationError {
  return new FederationError('ADDRESS_REFUSED', `This URL may not be asked: ${why}.`)
}
