// A peer from outside: see subject.ts above.

import { sleep } from '../../child.ts'
import type { Subject } from '../subject.ts'
import type { PeerPlace } from './peer.ts'

export function peerSubject(place: PeerPlace): Subject {
  return {
    connect: () => place.setUp(),
    async drained(withinMs) {
      const until = performance.now() + withinMs
      for (;;) {
        if ((await place.live().catch(() => Infinity)) === 0) return true
        if (performance.now() > until) return false
        await sleep(100)
      }
    },
    records: () => place.records(),
    disconnect: () => place.close(),
  }
}
