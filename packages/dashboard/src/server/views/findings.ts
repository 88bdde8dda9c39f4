// What doctor() finds. It counts all jobs and asks the server, so it is read seldom.

import { type Answer, type FindingsPage, largestPage } from '../../shared/api.ts'
import { answerOf, type Context } from '../route.ts'

const findingsMs = 30_000

export async function findings({ reads, handles }: Context): Promise<Answer<FindingsPage>> {
  const read = await reads.read('findings', findingsMs, () => handles.reader.doctor())
  return answerOf(read, (found) => ({
    findings: found.slice(0, largestPage),
    cut: Math.max(0, found.length - largestPage),
  }))
}
