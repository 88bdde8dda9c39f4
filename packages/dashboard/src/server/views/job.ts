// One job, with everything that is stored of it. Values are text by then, cut to what a page can hold.

import type { JobDetails, NamedJob } from 'holdfast'
import type { Answer, JobPageData, ShownValue } from '../../shared/api.ts'
import { invalid, RequestError } from '../http/errors.ts'
import { answerOf, type Call, type Context } from '../route.ts'
import { shownBytes, shownValue } from '../shown-value.ts'

/** A running job changes by the second, another one seldom. */
const jobMs = 1_000

export async function job({ reads, handles }: Context, { query, can }: Call): Promise<Answer<JobPageData>> {
  const ref = refOf(query)
  const read = await reads.read(JSON.stringify(['job', ref.face, ref.name, ref.id]), jobMs, async () => {
    const found = await handles.reader.jobs.get(ref)
    if (!found) return undefined
    const { reasons } = await handles.reader.explain(ref)
    return { data: dataOf(found), reasons: reasons.map(({ sentence }) => sentence) }
  })
  return answerOf(read, (found) => {
    if (!found) {
      throw new RequestError(404, 'NOT_FOUND', 'There is no such job. It was removed, or its retention is over.')
    }
    const { parts, ...data } = found.data
    return {
      ...data,
      ...(can.has('viewPayload') && { parts }),
      reasons: found.reasons,
    }
  })
}

/** @throws RequestError 400 */
export function refOf(query: URLSearchParams): NamedJob {
  const [face, name, id] = [query.get('face'), query.get('name'), query.get('id')]
  if (face === null || name === null || id === null) throw invalid('A job is named by face, name and id.')
  return { face, name, id }
}

function dataOf(details: JobDetails): Omit<JobPageData, 'reasons'> {
  const { payload: _, result: __, progress: ___, undecodable: ____, log, ...rest } = details
  return {
    ...rest,
    parts: {
      ...part(details, 'payload'),
      ...(details.state === 'completed' && part(details, 'result')),
      ...part(details, 'progress'),
      log: {
        dropped: log.dropped,
        lines: log.lines.map(({ fields, ...line }) => (fields ? { ...line, fields: textOf(fields) } : line)),
      },
    },
  }
}

function part(details: JobDetails, name: 'payload' | 'result' | 'progress'): { readonly [key: string]: ShownValue } {
  const bytes = details.undecodable?.[name]
  if (bytes) return { [name]: shownBytes(bytes) }
  return details[name] === undefined && name === 'progress' ? {} : { [name]: shownValue(details[name]) }
}

/** Fields of a log line may hold values that JSON has no word for. */
const textOf = (fields: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [key, typeof value === 'string' ? value : shownValue(value).text]),
  )
