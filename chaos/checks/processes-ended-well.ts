// No process and no server ended by its own error: each was killed or finished normally. (L4)

import { type History, type Violation, violation } from '../history.ts'

export function processesEndedWell({ entries }: History): Violation[] {
  return entries.flatMap((entry): Violation[] => {
    if (entry.what === 'unhandled') {
      const [line] = entry.message.split('\n')
      return [violation('unhandled', `${entry.by}: ${line}`, undefined, [entry])]
    }
    if (entry.what === 'serverDied') return [violation('exit', 'the server ended by itself', undefined, [entry])]
    if (entry.what !== 'exited' || entry.signal === 'SIGKILL' || entry.code === 0) return []
    const how = entry.signal ? `by ${entry.signal}` : `with code ${entry.code}`
    return [violation('exit', `${entry.process} ended ${how}`, undefined, [entry])]
  })
}
