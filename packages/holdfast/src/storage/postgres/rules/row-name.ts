// Names of rows: a job, key or group by its type and its encoded id or key.

import { arrayOf } from '../sql/text.ts'

export interface RowName {
  readonly tid: number
  readonly key: string
}

/** The name as one text, for maps. */
export const nameOf = (tid: number, key: string): string => `${tid}/${key}`

/** The names as two array literals, for a statement. */
export function namesOf(names: Iterable<RowName>): string[] {
  const list = [...names]
  return [arrayOf(list.map(({ tid }) => tid)), arrayOf(list.map(({ key }) => key))]
}
