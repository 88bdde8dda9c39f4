// Whether hints arrive: one is sent, and waited for. Without them everything still runs, as late as the fallback poll. A driver that gives
// hints to listeners of its own process directly has a probe of its own.

import type { Clock } from '../../clock.ts'
import type { Finding } from '../../storage/storage.ts'
import type { GuardedStorage } from '../guard.ts'

/** A type that no face has. To resume it changes nothing, and sends the hint that every resume sends. */
const probeType = 'holdfast.doctor'
const longestMs = 2_000

export async function hintFindings(
  storage: Pick<GuardedStorage, 'listen' | 'pause'>,
  clock: Clock,
): Promise<Finding[]> {
  const heard = Promise.withResolvers<boolean>()
  const unlisten = await storage.listen([{ kind: 'wake', type: probeType }], ({ gap }) => {
    if (!gap) heard.resolve(true)
  })
  const timer = clock.after(longestMs, () => heard.resolve(false))
  try {
    await storage.pause({ type: probeType, paused: false })
    if (await heard.promise) return []
  } finally {
    timer.cancel()
    await unlisten()
  }
  return [
    {
      code: 'hints_lost',
      severity: 'warning',
      sentence: `a hint was sent, and did not arrive within ${longestMs} ms: jobs start when workers poll, and not at once`,
      fix: 'Check what stands between this process and the server: a proxy, or rights that forbid to subscribe.',
    },
  ]
}
