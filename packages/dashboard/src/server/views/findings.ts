// What doctor() finds. It counts all jobs and asks the server, so it is read seldom.

import type { Answer, FindingsPage } from '../../shared/api.ts'
import { answerOf, type Context } from '../route.ts'

const findingsMs = 30_000

export async function findings({ reads, handles }: Context): Promise<Answer<FindingsPage>> {
  const read = await reads.read('findings', findingsMs, () => handles.reader.doctor())
  return answerOf(read, (found) => ({ findings: found }))
}
