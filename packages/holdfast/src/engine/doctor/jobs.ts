// Types whose jobs do not run, or fail in numbers.

import type { Counts, Finding, TypeCounts } from '../../storage/storage.ts'
import { parseType } from '../../storage/stored-type.ts'
import { typeText } from '../explain/sentence.ts'
import { counted } from '../../count-text.ts'
import type { WorkerInfo } from '../work/presence.ts'

/** Failed jobs of a type that are many. */
const manyFailed = 1_000

export function jobFindings({ types }: Counts, workers: readonly WorkerInfo[]): Finding[] {
  return types.flatMap((counts) => [...withoutWorker(counts, workers), ...failed(counts)])
}

function withoutWorker({ type, due, paused }: TypeCounts, workers: readonly WorkerInfo[]): Finding[] {
  if (due === 0 || paused) return []
  const { face, name } = parseType(type)
  if (workers.some(({ types }) => types.some((served) => served.face === face && served.name === name))) return []
  return [
    {
      code: 'no_worker',
      severity: 'error',
      sentence: `${counted(due, 'job')} of ${typeText(type)} ${due === 1 ? 'is' : 'are'} due, and no worker of it is known to be alive`,
      fix: 'Start a worker of this type. One with `presenceMs: false` is not known: then ignore this.',
    },
  ]
}

function failed({ type, states }: TypeCounts): Finding[] {
  if (states.failed < manyFailed) return []
  return [
    {
      code: 'failed_jobs',
      severity: 'warning',
      sentence: `${counted(states.failed, 'job')} of ${typeText(type)} have failed`,
      fix: 'Look at their errors (jobs.list with states: ["failed"]), then redrive or remove them, or shorten `retention.failed`.',
    },
  ]
}
