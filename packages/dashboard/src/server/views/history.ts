// What workers did, by minute or by hour: of all types, or of one.

import type { NamedType } from 'holdfast'
import type { Answer, History, HistoryRange } from '../../shared/api.ts'
import { answerOf, type Call, type Context } from '../route.ts'

/** Workers write it every 10 s. */
const historyMs = 10_000

export async function history({ reads, handles }: Context, { query }: Call): Promise<Answer<History>> {
  // The handle refuses a range that does not exist.
  const range = (query.get('range') ?? '1h') as HistoryRange
  const [face, name] = [query.get('face'), query.get('name')]
  const type: NamedType | undefined = face === null || name === null ? undefined : { face, name }
  const key = JSON.stringify(['history', range, type?.face, type?.name])
  return answerOf(await reads.read(key, historyMs, () => handles.reader.history(range, type)), (found) => found)
}
