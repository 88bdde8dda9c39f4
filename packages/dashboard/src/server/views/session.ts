// Who looks, what they may do, and the token for their writes.

import type { Answer, Session } from '../../shared/api.ts'
import type { Call, Context } from '../route.ts'

export async function session(
  { basePath, clock, token, peers }: Context,
  { actor, can }: Call,
): Promise<Answer<Session>> {
  const data = { actor, can: [...can], token: token(actor), basePath, hasPeers: peers !== undefined }
  return { at: clock.now(), costMs: 0, data }
}
