// Step 2: the operator has not blocked the server.

import { endAndForget } from './end.ts'
import type { Delivery } from './delivery.ts'

export async function checkBlacklist({ context, data }: Delivery, origin: string): Promise<void> {
  const row = await context.store.blacklist.matching(origin)
  if (row) throw await endAndForget(context, data.deliveryJobId, 'PEER_BLACKLISTED', `${origin} is blocked`)
}
