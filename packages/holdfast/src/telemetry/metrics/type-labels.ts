// The labels of a type: its face and its name. Invariant: at most 200 types have labels of their own, however many there are. Each label
// is a time series for ever, and names may come from data.

import { parseType } from '../../storage/stored-type.ts'

/** Types with labels of their own. */
export const mostTypes = 200

export type TypeLabel = readonly [face: string, name: string]

const other: TypeLabel = ['other', 'other']

export class TypeLabels {
  readonly #known = new Map<string, TypeLabel>()

  /** The first 200 that are asked for keep their names; all others are `other`. */
  of(type: string): TypeLabel {
    const known = this.#known.get(type)
    if (known) return known
    if (this.#known.size >= mostTypes) return other
    const { face, name } = parseType(type)
    const label: TypeLabel = [face, name]
    this.#known.set(type, label)
    return label
  }
}
