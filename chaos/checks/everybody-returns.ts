// Once the server, or the way to it, is there again, every process comes to an answered call. (L4)

import { type History, type Violation, violation } from '../history.ts'
import { returnsOf } from '../reconnect.ts'

export function everybodyReturns(history: History): Violation[] {
  return returnsOf(history)
    .filter(({ ms }) => ms === undefined)
    .map(({ process, entries }) =>
      violation('return', `${process} had no call answered after its way was free`, undefined, entries),
    )
}
