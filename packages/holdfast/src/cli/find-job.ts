// A job by its id. Each type has ids of its own, so several jobs may have the same one.

import type { Admin } from '../admin/admin.ts'
import type { NamedType } from '../admin/options.ts'
import type { JobDetails } from '../engine/operate/job-details.ts'
import { checkId } from '../option-checks.ts'
import type { AnyCommand, OptionSpec } from './command.ts'
import { findTypes, typeText } from './find-type.ts'
import { shortened, UsageError } from './usage-error.ts'

export const typeOption = {
  kind: 'text',
  placeholder: 'type',
  summary: 'type of the job, such as queue.mail or mail; needed if several types have the id',
} as const satisfies OptionSpec

export const idArgument = { name: 'id', summary: 'id of the job' } as const satisfies NonNullable<
  AnyCommand['arguments']
>[number]

/** For a job that findJob() did not find. */
export const noJob = (id: string): string =>
  `There is no job '${id}'. It was removed, its retention is over, or it is in another storage. Run holdfast jobs for those that there are.`

/** Types that are asked at a time. */
const atATime = 50

/** @returns undefined if there is none @throws UsageError if several types have the id, TypeError INVALID_ARGUMENT */
export async function findJob(admin: Admin, id: string, type?: string): Promise<JobDetails | undefined> {
  checkId(id)
  const types: readonly NamedType[] = type === undefined ? await admin.types() : await findTypes(admin, [type])
  const found: JobDetails[] = []
  for (let start = 0; start < types.length; start += atATime) {
    const asked = types.slice(start, start + atATime)
    const jobs = await Promise.all(asked.map(({ face, name }) => admin.jobs.get({ face, name, id })))
    found.push(...jobs.filter((job) => job !== null))
  }
  if (found.length > 1) {
    const names = found.map((job) => `--type ${typeText(job)}`).join(', ')
    throw new UsageError(`several types have a job '${shortened(id)}'. Pass one of: ${names}.`)
  }
  return found[0]
}
