// The canonical identity of a server. Whatever names one passes through here before it is stored, compared, hashed or blocked.

import { FederationError } from './errors.ts'

export interface OriginOptions {
  /** `http:` is a scheme too. @default false */
  readonly allowHttp?: boolean
}

// The URL parser forgives much of what must not be forgiven here (white space, backslashes, an empty user info or query), and
// leaves no trace of it. So the text is looked at as well. After the scheme: the host and port, then the rest.
const url = /^https?:\/\/(?<authority>[^/?#@\\\p{Cc}\s]+)(?<rest>(?:[/?#][^\\\p{Cc}\s]*)?)$/iu
const maxHostLength = 253

/**
 * `https://A.EXAMPLE:443/` and `https://a.example` are one server: `https://a.example`.
 * @throws FederationError ORIGIN_INVALID: another scheme, user info, a path, a query, a fragment, a host with a trailing dot
 */
export function canonicalOrigin(text: string, options: OriginOptions = {}): string {
  return read(text, options, (rest) => rest === '' || rest === '/')
}

/**
 * The canonical origin of a URL that may have a path and a query.
 * @throws FederationError ORIGIN_INVALID
 */
export function originOfUrl(text: string, options: OriginOptions = {}): string {
  return read(text, options, () => true)
}

function read(text: unknown, { allowHttp = false }: OriginOptions, isRest: (rest: string) => boolean): string {
  const match = typeof text === 'string' ? url.exec(text) : null
  if (!match) throw invalid('is no http(s) URL, or has user info')
  if (!isRest(match.groups?.['rest'] ?? '')) throw invalid('has a path, a query or a fragment')
  const parsed = URL.parse(match[0])
  if (!parsed) throw invalid('has no valid host or port')
  const { protocol, hostname, host } = parsed
  if (protocol !== 'https:' && !(allowHttp && protocol === 'http:')) throw invalid('is not https')
  if (hostname.length > maxHostLength) throw invalid(`has a host of more than ${maxHostLength} characters`)
  if (hostname.split('.').includes('')) throw invalid('has a host with an empty label or a trailing dot')
  return `${protocol}//${host}`
}

// What was given is not repeated: it may be long, or hold a secret.
function invalid(what: string): FederationError {
  return new FederationError('ORIGIN_INVALID', `The URL of a server ${what}.`)
}
