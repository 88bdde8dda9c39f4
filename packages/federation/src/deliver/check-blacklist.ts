// Step 2: refuses a delivery to a server that the operator has blocked.

import { endAndForget } from './end.ts'
import type { Delivery } from './delivery.ts'

export async function checkBlacklist({ context, data, ahead }: Delivery, origin: string): Promise<void> {
  const row = await (ahead?.origin === origin ? ahead.block : context.store.blacklist.matching(origin))
  if (!row) return
  const message = `delivery to ${origin}: the operator blocked this server. The delivery ended. To allow it: peers.unblock().`
  throw await endAndForget(context, data.deliveryJobId, 'PEER_BLACKLISTED', message)
}
