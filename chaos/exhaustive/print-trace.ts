// A trace of the model, one line per move.

import type { Step } from './moves.ts'

export function linesOf(trace: readonly Step[]): string[] {
  return trace.map(({ move, verdict }, index) => {
    const number = `${index + 1}.`.padStart(5)
    if (move.what === 'crashes') return `${number} worker ${move.worker} crashes`
    if (move.what !== 'call')
      return `${number} job ${move.job}: ${move.what === 'looks' ? 'a recovery sees a lost lease' : 'its lease ends'}`
    const { call, by, fate } = move
    const isAhead = call.verb === 'claim' && call.fence.ahead
    const detail = 'outcome' in call ? ` ${call.outcome}` : 'mode' in call ? ` (${call.mode})` : isAhead ? ' ahead' : ''
    const attempt = 'fence' in call && 'attempt' in call.fence ? ` of attempt ${call.fence.attempt}` : ''
    const who = by === undefined ? '' : `worker ${by}: `
    const answer =
      fate === 'lost'
        ? `${verdict}, and the answer is lost`
        : fate === 'forgotten'
          ? `${verdict}, and a failover forgets it`
          : verdict
    return `${number} job ${move.job}: ${who}${call.verb}${detail}${attempt}: ${answer}`
  })
}
