// A replay: a new job like another one, with an edited payload if one is given.

import type { ReplayResult } from 'holdfast'
import { invalid } from '../http/errors.ts'
import type { Call, Context } from '../route.ts'
import { optionalText, text } from './body.ts'

export async function replayJob({ handles, reads, audit }: Context, { actor, body }: Call): Promise<ReplayResult> {
  const job = { face: text(body, 'face'), name: text(body, 'name'), id: text(body, 'id') }
  const given = optionalText(body, 'payload')
  const result = await handles.of(actor).jobs.replay(job, given === undefined ? {} : { payload: valueOf(given) })
  reads.clear()
  if (result.status === 'added') {
    audit.wrote(actor, `replayed job '${job.id}' as '${result.id}'`, {
      ...job,
      newId: result.id,
      edited: given !== undefined,
    })
  }
  return result
}

function valueOf(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch (error) {
    throw invalid(`payload: it is not JSON: ${(error as Error).message}.`)
  }
}
