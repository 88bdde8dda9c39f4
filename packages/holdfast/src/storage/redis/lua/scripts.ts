// One script for each verb, assembled from the parts in this folder. Each begins with `#!lua`, so that the server restricts
// it to the slot of its key. Only scripts that let the data grow are refused when memory is full: a full server can drain.

import { createHash } from 'node:crypto'
import { add, addRules } from './add.ts'
import { cancel } from './cancel.ts'
import { claim } from './claim.ts'
import { count } from './count.ts'
import { extend } from './extend.ts'
import { fastAdd } from './fast/add.ts'
import { fastAddOne } from './fast/add-one.ts'
import { fastClaim } from './fast/claim.ts'
import { fastNextDueAt } from './fast/next-due-at.ts'
import { fastSettle } from './fast/settle.ts'
import { get } from './get.ts'
import { firstLease } from './claim/first-lease.ts'
import { limits } from './claim/limits.ts'
import { ring } from './claim/ring.ts'
import { attempt } from './job/attempt.ts'
import { block } from './job/block.ts'
import { deadline } from './job/deadline.ts'
import { dependents } from './job/dependents.ts'
import { finish } from './job/finish.ts'
import { hold } from './job/hold.ts'
import { key } from './job/key.ts'
import { rate } from './job/rate.ts'
import { addsJobs, outcomesAddJobs, refuse } from './job/refuse.ts'
import { report } from './job/report.ts'
import { standing } from './job/standing.ts'
import { states } from './job/states.ts'
import { wait } from './job/wait.ts'
import { kvGet, kvList, kvRules, kvWrite } from './kv.ts'
import { claims } from './move/claims.ts'
import { commands } from './move/commands.ts'
import { ends as endBatches } from './move/ends.ts'
import { flush } from './move/flush.ts'
import { groups } from './move/groups.ts'
import { held } from './move/held.ts'
import { jobs } from './move/jobs.ts'
import { lots } from './move/lots.ts'
import { record } from './move/record.ts'
import { search } from './move/search.ts'
import { signals } from './move/signals.ts'
import { types } from './move/types.ts'
import { nextDueAt } from './next-due-at.ts'
import { pause } from './pause.ts'
import { recover, recoverRules } from './recover.ts'
import { remove } from './remove.ts'
import { revive } from './revive.ts'
import { fields, heads, sizes, window } from './scan.ts'
import { refusals, settle, settleRules } from './settle.ts'
import { serverTime, start } from './start.ts'
import { sweep } from './sweep.ts'
import { typeNames, types as typeList } from './types.ts'
import { watch } from './watch.ts'

export interface Script {
  readonly name: string
  readonly source: string
  /** SHA-1 of the source, in hex. */
  readonly sha: string
}

export type Scripts = ReturnType<typeof makeScripts>

// The order of parts is that of definitions: Lua sees what stands above.
const move = [
  commands,
  states,
  types,
  signals,
  record,
  held,
  jobs,
  claims,
  endBatches,
  lots,
  groups,
  search,
  flush,
].join('')
const ends = [wait, hold, attempt, key, dependents, finish, deadline].join('')
const adding = [ends, block, standing, refuse, addRules].join('')

/** Jobs that are leased or completed together are listed by one entry from this number on: below it, one entry each costs less. */
const fewestListedTogether = 4

/**
 * @param time for tests: a clock that is set by hand, with keys that only the scripts' own rules expire
 * @param fewest for tests: the number of jobs from which on one entry lists them together
 */
export function makeScripts(time = serverTime, fewest = fewestListedTogether) {
  const makeFast = (name: string, scriptFlags: string, fast: string, ...parts: readonly string[]): Script => {
    const source = `#!lua${scriptFlags && ` flags=${scriptFlags}`}\n${time}local fewest = ${fewest}${start}${fast}${move}${parts.join('')}`
    return { name, source, sha: createHash('sha1').update(source).digest('hex') }
  }
  const make = (name: string, scriptFlags: string, ...parts: readonly string[]): Script =>
    makeFast(name, scriptFlags, '', ...parts)
  return {
    add: makeFast('add', '', fastAddOne + fastAdd, addsJobs, adding, add),
    claim: makeFast('claim', 'allow-oom', fastClaim, outcomesAddJobs, adding, report, settleRules, recoverRules, claim),
    extend: make('extend', 'allow-oom', refusals, report, extend),
    settle: makeFast('settle', 'allow-oom', fastSettle, outcomesAddJobs, adding, report, settleRules, settle),
    recover: make('recover', 'allow-oom', ends, recoverRules, recover),
    cancel: make('cancel', 'allow-oom', ends, cancel),
    revive: make('revive', 'allow-oom', ends, block, revive),
    remove: make('remove', 'allow-oom', ends, remove),
    pause: make('pause', 'allow-oom', wait, pause),
    sweep: make('sweep', 'allow-oom', ends, sweep),
    get: make('get', 'no-writes', ends, standing, get),
    count: make('count', 'no-writes', rate, limits, ring, firstLease, count),
    nextDueAt: makeFast('nextDueAt', 'no-writes', fastNextDueAt, rate, firstLease, nextDueAt),
    typeNames: make('typeNames', 'no-writes', typeNames),
    types: make('types', 'no-writes', typeList),
    fields: make('fields', 'no-writes', fields),
    heads: make('heads', 'no-writes', heads),
    sizes: make('sizes', 'no-writes', sizes),
    window: make('window', 'allow-oom', window),
    kvGet: make('kvGet', 'no-writes', kvRules, kvGet),
    kvWrite: make('kvWrite', '', kvRules, kvWrite),
    kvDelete: make('kvDelete', 'allow-oom', kvRules, kvWrite),
    kvList: make('kvList', 'no-writes', kvRules, kvList),
    watch: make('watch', 'allow-oom', watch),
  }
}

export const serverScripts = makeScripts()
