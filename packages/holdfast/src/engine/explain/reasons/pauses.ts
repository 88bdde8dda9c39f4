// Reasons that a person ends: pauses.

import type { NextStart } from '../../../storage/storage.ts'
import type { Reason } from '../explanation.ts'
import type { Facts } from '../facts.ts'
import { clockTime, reason, typeText } from '../sentence.ts'

export function pauseReasons({ now, ref }: Facts, { paused, group }: NextStart): Reason[] {
  const found: Reason[] = []
  const add = (what: string, pause: typeof paused, key?: string): void => {
    if (!pause) return
    const by = pause.by === undefined ? '' : ` by ${pause.by}`
    const sentence = `${what} is paused since ${clockTime(pause.since, now)}${by}`
    found.push(reason('paused', sentence, { since: pause.since, by: pause.by, group: key }))
  }
  add(typeText(ref.type), paused)
  add(`group ${group?.group}`, group?.paused, group?.group)
  return found
}
