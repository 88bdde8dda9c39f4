// Step 2: the operator has not blocked the server.

import { endAndForget } from './end.ts'
import type { Delivery } from './delivery.ts'

export async function checkBlacklist({ setting, data }: Delivery, origin: string): Promise<void> {
  const row = await setting.store.blacklist.matching(origin)
  if (row) throw await endAndForget(setting, data.deliveryJobId, 'PEER_BLACKLISTED', `${origin} is blocked`)
}
