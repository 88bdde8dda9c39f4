// One script for each verb, put together from the rules in lua/. Each begins with `#!lua`, so that the server holds it to the
// slot of its key. All but those that let the data grow may run when the memory is used up, so that a full server drains.

import { createHash } from 'node:crypto'
import { add, addVerb } from './lua/add.ts'
import { block } from './lua/block.ts'
import { claimVerb, recover, recoverVerb } from './lua/claim.ts'
import { fastAdd, fastClaim, fastNextDue, fastSettle, start } from './lua/fast.ts'
import { finish } from './lua/finish.ts'
import { kv, kvGetVerb, kvListVerb, kvWriteVerb } from './lua/kv.ts'
import { cancelVerb, extendVerb, pauseVerb, removeVerb, reviveVerb, sweepVerb } from './lua/others.ts'
import { countVerb, getVerb, nextDueVerb, scanVerb } from './lua/reads.ts'
import { settle, settleVerb } from './lua/settle.ts'
import { store } from './lua/store.ts'
import { wait } from './lua/wait.ts'

export interface Script {
  readonly name: string
  readonly source: string
  /** SHA-1 of the source, in hex. */
  readonly sha: string
}

/** The server's own time, asked for once. `expires`: it lets keys expire by itself. */
const serverTime = `
local time = redis.call('TIME')
local now, expires = time[1] * 1000 + math.floor(time[2] / 1000), true
`

export type Scripts = ReturnType<typeof makeScripts>

/** @param time in tests: a clock that is set by hand, with keys that only the scripts' own rules let expire */
export function makeScripts(time = serverTime) {
  const makeFast = (name: string, flags: string, fast: string, ...parts: readonly string[]): Script => {
    const source = `#!lua${flags && ` flags=${flags}`}\n${time}${start}${fast}${store}${parts.join('')}`
    return { name, source, sha: createHash('sha1').update(source).digest('hex') }
  }
  const make = (name: string, flags: string, ...parts: readonly string[]): Script => makeFast(name, flags, '', ...parts)
  const ends = [wait, finish] as const
  const adding = [...ends, block, add] as const
  return {
    add: makeFast('add', '', fastAdd, ...adding, addVerb),
    claim: makeFast('claim', 'allow-oom', fastClaim, ...adding, settle, recover, claimVerb),
    extend: make('extend', 'allow-oom', extendVerb),
    settle: makeFast('settle', 'allow-oom', fastSettle, ...adding, settle, settleVerb),
    recover: make('recover', 'allow-oom', ...ends, recover, recoverVerb),
    cancel: make('cancel', 'allow-oom', ...ends, cancelVerb),
    revive: make('revive', 'allow-oom', ...ends, block, reviveVerb),
    remove: make('remove', 'allow-oom', ...ends, removeVerb),
    pause: make('pause', 'allow-oom', wait, pauseVerb),
    sweep: make('sweep', 'allow-oom', ...ends, kv, sweepVerb),
    get: make('get', 'no-writes', ...ends, getVerb),
    count: make('count', 'no-writes', countVerb),
    nextDueAt: makeFast('nextDueAt', 'no-writes', fastNextDue, nextDueVerb),
    scan: make('scan', 'no-writes', scanVerb),
    kvGet: make('kvGet', 'no-writes', kv, kvGetVerb),
    kvWrite: make('kvWrite', '', kv, kvWriteVerb),
    kvDelete: make('kvDelete', 'allow-oom', kv, kvWriteVerb),
    kvList: make('kvList', 'no-writes', kv, kvListVerb),
    watch: make(
      'watch',
      'allow-oom',
      `
local t = type_of(ARGV[1])
know(t, 0)
call('HSET', t.p .. 'type', 'watched', now + tonumber(ARGV[2]))
return pack({ now })
`,
    ),
  }
}

export const serverScripts = makeScripts()
