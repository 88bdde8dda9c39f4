// The chain of a job, with the chains that it waits for.

import type { Answer, JobTree } from '../../shared/api.ts'
import { RequestError } from '../http/errors.ts'
import { answerOf, type Call, type Context } from '../route.ts'
import { refOf } from './job.ts'

const treeMs = 2_000

export async function tree({ reads, handles }: Context, { query }: Call): Promise<Answer<JobTree>> {
  const ref = refOf(query)
  const read = await reads.read(JSON.stringify(['tree', ref.face, ref.name, ref.id]), treeMs, () =>
    handles.reader.jobs.tree(ref),
  )
  return answerOf(read, (found) => {
    if (!found)
      throw new RequestError(404, 'NOT_FOUND', 'There is no such job. It was removed, or its retention is over.')
    return found
  })
}
