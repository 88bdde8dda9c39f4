// A worker of a peer: the same jobs and log lines as those of worker.ts above.

import { logFile, retryUntilDone, sleep, startChild } from '../../child.ts'
import { VolumeLog } from '../volume-log.ts'
import { openPeer } from './open-child.ts'
import type { PeerRun } from './peer.ts'

const child = await startChild()
const log = new VolumeLog(logFile(child.directory, child.role, child.slot).replace(/\.log$/, '.volume'), child.name)
const place = openPeer(child)
await retryUntilDone(child.log, () =>
  place.consume(child.volume!.concurrency, run, ({ job, attempt }) => log.batch('s', [{ job, attempt }])),
)
child.ready()
await child.finish
await Promise.race([place.close().catch(() => {}), sleep(10_000)])
process.exit(0)

/** The result is the attempt that made it. */
async function run({ job, payload, attempt }: PeerRun): Promise<number> {
  log.batch('c', [{ job, attempt }])
  if (payload.ms > 0) await sleep(payload.ms)
  if (payload.failsOnce && attempt === 1) {
    log.batch('f', [{ job, attempt }])
    throw new Error('on purpose')
  }
  return attempt
}
