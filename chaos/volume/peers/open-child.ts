// The peer of a process that the supervisor started.

import { type Child, noteError } from '../../child.ts'
import { backoffMs } from '../../jobs.ts'
import { volumeAttempts } from '../volume-jobs.ts'
import { peerNamed } from './index.ts'
import { loaderOf, type PeerPlace } from './peer.ts'

export function openPeer({ volume, url, leaseMs, log }: Child): PeerPlace {
  const { name, folder } = volume!.peer!
  return peerNamed(name).open({
    url: url!,
    leaseMs,
    attempts: volumeAttempts,
    backoffMs,
    load: loaderOf(folder),
    onError: noteError(log),
  })
}
