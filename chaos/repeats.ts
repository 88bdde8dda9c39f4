// Logs the adds that the engine repeats under the same token after their reply was lost.

import type { Storage } from 'holdfast'
import type { NewJob } from 'holdfast/storage'
import { wrapStorage } from './wrap-storage.ts'
import type { Log } from './log.ts'

export function notingRepeats(storage: Storage, log: Log): Storage {
  const sent = new Set<string>()
  return wrapStorage(storage, async (verb, args, call) => {
    if (verb !== 'add') return call()
    const jobs = args[0] as readonly NewJob[]
    const repeated = jobs.filter(({ token }) => sent.has(token))
    for (const { token } of jobs) sent.add(token)
    const answer = await call()
    for (const { id } of repeated) log.write({ what: 'repeated', id })
    return answer
  })
}
