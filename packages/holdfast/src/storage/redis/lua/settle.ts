// As rules/settle.ts: record outcomes where the fence still matches.
// Invariant: nothing is written unless (type, id, worker, attempt) is the lease in force, or the expected tail.
//
// An outcome: 1 type  2 id  3 worker (workerless: the token)  4 attempt  5 kind  6 result, error or payload  7 keepMs
//   8 when  9 stalled, or the error of a snooze  10 types and  11 list of the jobs to add, `next` first
//   12 type and  13 id of the chain (workerless)  14 report (job/report.ts)  15 what a release slows down

import {
  outcomeCodes as outcome,
  reasonCodes as reason,
  refusalCodes as refusal,
  stateCodes as state,
} from '../../rules/job/codes.ts'
import { addCodes, duplicateCodes, eventCodes as event, settleCodes, slowDownCodes } from '../codec/codes.ts'

/** Why a fenced write is refused. */
export const refusals = `
local function refusal_of(j)
  if not j or is_gone(j) then return ${refusal.not_found} end
  if j.state == ${state.cancelled} then return ${refusal.cancelled} end
  return is_terminal(j.state) and ${refusal.already_completed} or ${refusal.taken_by_another_worker}
end
`

/** Also for the outcomes that a claim brings. */
export const settleRules = `
${refusals}
local settle_all
do
  local function holds(j, o)
    if o[12] then
      local chain = find_ref({ o[12], o[13] })
      return chain ~= nil and chain == chain_of(j) and tail_of(chain) == j and not is_terminal(j.state)
    end
    return j.state == ${state.processing} and j.worker == o[3] and j.attempt == o[4]
  end

  -- The verdict if one of the jobs to add is refused: then nothing at all is written.
  local function conflict_of(j, kind, news)
    -- A job that ends as cancelled adds nothing.
    if j.cancelling and kind ~= ${outcome.completed} then return nil end
    local missing = missing_blockers(news, kind == ${outcome.continued} and 2 or 1)
    local taken = false
    if kind == ${outcome.continued} then
      local existing = stored(news[1].t, news[1].id)
      local chain = existing and chain_of(existing)
      -- A failed chain also takes the id, while it has dependents; an expired part of a chain never does.
      taken = not (existing and is_expired_part(existing)) and (not is_free(existing) or (chain ~= nil and chain.deps > 0))
    end
    local refused, token
    if refusable(news) then refused, token = refusal_in(news) end
    if not missing and not taken and not refused then return nil end
    local verdicts = {}
    for index, new in ipairs(news) do
      local blocker = missing and missing[new.token]
      local existing = find_job(new.t, new.id)
      if blocker then verdicts[index] = { ${addCodes.blocker_not_found}, blocker[1], blocker[2] }
      elseif refused and token == new.token then verdicts[index] = refused
      elseif existing then verdicts[index] = { ${addCodes.duplicate}, ${duplicateCodes.id}, standing_of(existing) }
      else verdicts[index] = { ${addCodes.skipped} } end
    end
    return { ${settleCodes.conflict}, verdicts }
  end

  local function state_after(j, o, kind)
    if kind == ${outcome.completed} then return ${state.completed} end
    if j.cancelling then return ${state.cancelled} end
    if kind == ${outcome.continued} then return ${state.completed} end
    if kind == ${outcome.failed} then return ${state.failed} end
    if kind == ${outcome.retry} then
      if j.failures + 1 >= (j.max or INF) then return ${state.failed} end
      return o[9] and ${state.queued} or ${state.failing}
    end
    return (o[8] and due_at(o[8]) or j.run_at) > now and ${state.scheduled} or ${state.queued}
  end

  local function finish_outcome(j, o, kind, state, after)
    if kind == ${outcome.continued} and state == ${state.completed} then return end_continued(j) end
    local keep = o[7] or nil
    if state == ${state.completed} then return finish(j, state, { result = o[6] or nil, keep = keep }, after) end
    if state == ${state.cancelled} then return finish(j, state, {}, after) end
    if kind == ${outcome.retry} then keep = nil end
    if o[9] then finish(j, ${state.failed}, { reason = ${reason.stalled}, keep = keep }, after)
    else finish(j, ${state.failed}, { error = o[6] or nil, keep = keep }, after) end
  end

  -- Nothing else of the type, or of the group, is claimed before the job is due again. Of several, the latest counts.
  local function slow_down(j, what)
    if j.run_at <= now then return end
    local f
    if what == ${slowDownCodes.type} then
      touch_flow(j.t)
      f = j.t.flow
    elseif what == ${slowDownCodes.group} and j.group_key then
      f = group_of(j.t, j.group_key)
      f.dirty = true
    else return end
    f.slowed = math.max(f.slowed or 0, j.run_at)
  end

  -- Events come first: they carry the label of the lease that ends here.
  local function wait_again(j, o, kind, state)
    if kind == ${outcome.released} then
      event(j, ${event.requeued}, j.failures)
      if o[6] then set_payload(j, o[6]) end
      if o[8] then
        if not o[15] then j.snoozes = j.snoozes + 1 end
        j.error = o[9] or nil
        go_behind(j, due_at(o[8]))
      end
    else
      if o[6] then j.error = o[6] end
      go_behind(j, o[9] and now or due_at(o[8]))
      if state == ${state.failing} then event(j, ${event.failing}, j.failures) end
    end
    leave_processing(j)
    if o[15] then slow_down(j, o[15]) end
    wait(j, state == ${state.failing})
  end

  local function record(j, o, kind, news)
    local after = { ended = {}, unblocked = {} }
    local state = state_after(j, o, kind)
    local is_failure = kind == ${outcome.retry} or kind == ${outcome.failed}
    local err = is_failure and o[6] or kind == ${outcome.released} and o[9] or nil
    if o[12] then
      if j.state == ${state.processing} then abort(j) end
      j.label = nil
    end
    if o[14] then keep_report(j, o[14]) end
    if kind == ${outcome.completed} and not o[12] then j.by_holder = true
    else record_attempt(j, kind, state, err, o[3], o[4]) end
    if is_failure then
      j.failures = j.failures + 1
      if o[9] then event(j, ${event.stalled}, j.failures) end
    end
    if is_terminal(state) then finish_outcome(j, o, kind, state, after) else wait_again(j, o, kind, state) end
    local added = {}
    if news and (state == ${state.completed} or state == ${state.failed}) then
      added = add_batch(news, nil, kind == ${outcome.continued} and j or nil)
    end
    if is_terminal(state) then return { ${settleCodes.settled}, state, false, shown_expiry(j), added, after.ended, after.unblocked } end
    return { ${settleCodes.settled}, state, j.run_at, false, added, after.ended, after.unblocked }
  end

  local function settle_one(o)
    local j = stored(type_of(o[1]), o[2])
    local recorded = j and find_attempt(j, o[3], o[4])
    if recorded then
      -- Not ended by its worker: taken back, or cancelled by force.
      if recorded[6] == ${outcome.stalled} or recorded[6] == ${outcome.cancelled} then
        return { ${settleCodes.refused}, refusal_of(j) }
      end
      -- A repeat is answered as the first.
      local at = shown_expiry(j)
      return { ${settleCodes.settled}, recorded[7], false, at, {}, {}, {} }
    end
    if not j or not holds(j, o) then return { ${settleCodes.refused}, refusal_of(j) } end
    local news = o[10] and new_jobs(o[10], o[11]) or nil
    local conflict = news and conflict_of(j, o[5], news)
    return conflict or record(j, o, o[5], news)
  end

  -- A list of outcomes; or a type, and a flat list of id, worker, attempt, keepMs and result of completions.
  function settle_all(outcomes, list)
    local verdicts = {}
    if list then
      local worker, attempt
      for at = 5, #list, 5 do
        if list[at - 3] then worker, attempt = list[at - 3], list[at - 2] end
        verdicts[at / 5] = settle_one({ outcomes[1], list[at - 4], worker, attempt, ${outcome.completed}, list[at], list[at - 1] })
      end
    else
      for index, o in ipairs(outcomes) do verdicts[index] = settle_one(o) end
    end
    flush()
    return verdicts
  end
end
`

/** After fastSettle, which has read the arguments. */
export const settle = `
local verdicts = settle_all(outcomes, list)
send()
return pack({ now, verdicts })
`
