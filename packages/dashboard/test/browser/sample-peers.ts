// The peers of a federation, for pictures: one that is well, one that is away, one that is blocked.

import type { PeerActions, PeerReport } from '@holdfast/dashboard'

const minute = 60_000
const ago = (minutes: number): number => Date.now() - minutes * minute

const reports = (): readonly PeerReport[] => [
  { origin: 'https://harbour.example', state: 'healthy', open: 2, oldestOpenAt: ago(0.2), lastSeen: ago(0.1) },
  {
    origin: 'https://lighthouse.example',
    state: 'unhealthy',
    why: 'unreachable',
    open: 184,
    oldestOpenAt: ago(47),
    lastSeen: ago(52),
    lastError: 'UNREACHABLE',
    contact: { failures: 6, nextContactAt: Date.now() + 4 * minute },
  },
  { origin: 'https://spam.example', state: 'blocked', why: 'sends advertisements', open: 0, lastSeen: ago(9_000) },
]

export const samplePeers: PeerActions = {
  list: async () => reports().map(({ origin }) => ({ url: origin })),
  explain: async (url) => reports().find(({ origin }) => origin === url)!,
  pause: async () => {},
  resume: async () => {},
  probe: async () => true,
  block: async () => {},
  unblock: async () => true,
}
