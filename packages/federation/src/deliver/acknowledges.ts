// Whether an acknowledgement names what was sent: the pair of a follow, the id of a post, or the id of any other message. All but that of a
// follow, which repeats the URL of the sender, also name the server that acknowledges.

import { canonicalOrigin } from '../origin.ts'
import { parseJson } from '../wire/v1/json.ts'
import { isObject } from '../wire/v1/schema.ts'

/** @param ack decrypted content of the acknowledgement @param payload what was sent, as JSON text @param peer origin that it was sent to */
export function acknowledges(ack: unknown, payload: string, peer: string): boolean {
  const sent = parseJson(payload)?.value
  if (!isObject(sent) || !isObject(ack) || ack['method'] !== sent['method']) return false
  const following = partOf(sent, 'following')
  switch (sent['method']) {
    case 'FEDERATE': {
      const acked = partOf(ack, 'following')
      return isSame(acked, following, 'followerId') && isSame(acked, following, 'followingId')
    }
    case 'FEDERATE_POST':
      return names(ack, peer) && isId(partOf(ack, 'post')['federationPostId'], partOf(sent, 'post')['id'])
    default:
      return names(ack, peer) && isId(ack['id'], sent['method'] === 'UNFOLLOW' ? following['id'] : sent['id'])
  }
}

type Fields = Readonly<Record<string, unknown>>

function partOf(value: Fields, name: string): Fields {
  const part = value[name]
  return isObject(part) ? part : {}
}

function names({ federationUrl }: Fields, peer: string): boolean {
  if (typeof federationUrl !== 'string') return false
  try {
    return canonicalOrigin(federationUrl, { allowHttp: true }) === peer
  } catch {
    return false
  }
}

const isSame = (a: Fields, b: Fields, name: string): boolean => isId(a[name], b[name])

/** Two absent ids are not the same one. */
const isId = (a: unknown, b: unknown): boolean => typeof a === 'string' && a === b
