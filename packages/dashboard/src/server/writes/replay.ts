// A replay: a new job like another one, with an edited payload if one is given.

import type { ReplayResult } from 'holdfast'
import type { Call, Context } from '../route.ts'
import { jsonOf, text } from './body.ts'

export async function replayJob({ handles, reads, audit }: Context, { actor, body }: Call): Promise<ReplayResult> {
  const job = { face: text(body, 'face'), name: text(body, 'name'), id: text(body, 'id') }
  const edited = body.payload !== undefined
  const result = await handles.of(actor).jobs.replay(job, edited ? { payload: jsonOf(body, 'payload') } : {})
  reads.clear()
  if (result.status === 'added') {
    audit.wrote(actor, `replayed job '${job.id}' as '${result.id}'`, {
      ...job,
      newId: result.id,
      edited,
    })
  }
  return result
}
