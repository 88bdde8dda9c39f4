// What an operator does with another server of a federation.

import { RequestError } from '../http/errors.ts'
import type { PeerActions } from '../peers.ts'
import type { Call, Context } from '../route.ts'
import { peersOf } from '../views/peers.ts'
import { optionalText, text } from './body.ts'

type Action = 'pause' | 'resume' | 'contact' | 'block' | 'unblock'

const words: Readonly<Record<Action, string>> = {
  pause: 'paused deliveries to',
  resume: 'resumed deliveries to',
  contact: 'contacted',
  block: 'blocked',
  unblock: 'unblocked',
}

export const changePeer =
  (action: Action) =>
  async (context: Context, { actor, body }: Call): Promise<{ readonly status: string }> => {
    const peers = peersOf(context)
    const url = text(body, 'url')
    const reason = optionalText(body, 'reason')
    const status = await change(peers, action, { url, actor, reason }).catch(refused)
    const { reads, audit, handles } = context
    reads.clear()
    const what = `${words[action]} ${url}`
    audit.wrote(actor, what, { action, url, status })
    // Peers are not the admin handle's, so it does not record this by itself.
    await handles.of(actor).audit.record({ what })
    return { status }
  }

interface Change {
  readonly url: string
  readonly actor: string
  readonly reason: string | undefined
}

async function change(peers: PeerActions, action: Action, { url, actor, reason }: Change): Promise<string> {
  switch (action) {
    case 'pause':
    case 'resume':
      await peers[action](url, { by: actor })
      return 'ok'
    case 'contact':
      return (await peers.probe(url)) ? 'healthy' : 'unhealthy'
    case 'block':
      await peers.block(url, reason === undefined ? {} : { reason })
      return 'ok'
    case 'unblock':
      return (await peers.unblock(url)) ? 'ok' : 'not_blocked'
  }
}

/** Their errors have codes of their own. A URL that names no server is a mistake of the caller. */
function refused(error: unknown): never {
  const { code, message } = error as { code?: unknown; message: string }
  if (typeof code !== 'string') throw error
  throw new RequestError(code === 'ORIGIN_INVALID' ? 400 : 422, code, message)
}
