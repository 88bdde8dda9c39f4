// A new job of a queue.

import type { AddJobResult } from 'holdfast'
import type { Call, Context } from '../route.ts'
import { jsonOf, optionalNumber, optionalText, text } from './body.ts'

export async function addJob({ handles, reads, audit }: Context, { actor, body }: Call): Promise<AddJobResult> {
  const queue = { face: 'queue', name: text(body, 'name') }
  const result = await handles.of(actor).jobs.add(queue, {
    id: optionalText(body, 'id'),
    group: optionalText(body, 'group'),
    runAt: optionalNumber(body, 'runAt'),
    priority: optionalNumber(body, 'priority'),
    ...(body.payload !== undefined && { payload: jsonOf(body, 'payload') }),
  })
  reads.clear()
  if (result.status === 'added') audit.wrote(actor, `added job '${result.id}'`, { ...queue, jobId: result.id })
  return result
}
