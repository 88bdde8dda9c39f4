// Once the server or its proxy is available again, every process gets an answer. (L4)

import { type History, type Violation, violation } from '../history.ts'
import { returnsOf } from '../reconnect.ts'

export function processesReconnect(history: History): Violation[] {
  return returnsOf(history)
    .filter(({ ms }) => ms === undefined)
    .map(({ process, entries }) =>
      violation('return', `${process} got no answer after the server was available again`, undefined, entries),
    )
}
