// As rules/settle.ts: record outcomes where the fence still matches.
// Invariant: nothing is written unless (type, id, worker, attempt) is the lease in force, or the expected tail.
//
// An outcome: 1 type  2 id  3 worker (without one: the token)  4 attempt  5 kind  6 result, error or payload  7 keepMs
//   8 when  9 stalled, or the error of a snooze  10 types and  11 list of the jobs that come along, `next` first  12 chain's type  13 its id

export const settle = `
local settle_all
do
  local KINDS = { [0] = 'completed', 'retry', 'failed', 'released', 'continued' }
  local REFUSED = { taken = 2, completed = 3, not_found = 4, cancelled = 5 }

  local function refusal_of(j)
    if not j or is_gone(j) then return { REFUSED.not_found } end
    if j.state == CANCELLED then return { REFUSED.cancelled } end
    return { is_terminal(j.state) and REFUSED.completed or REFUSED.taken }
  end

  local function holds(j, o)
    if o[12] then
      local chain = find_ref({ o[12], o[13] })
      return chain ~= nil and chain == chain_of(j) and tail_of(chain) == j and not is_terminal(j.state)
    end
    return j.state == PROCESSING and j.worker == o[3] and j.attempt == o[4]
  end

  -- What would refuse the jobs that come along: then nothing at all is written.
  local function conflict_of(j, kind, news)
    -- A job that ends as cancelled adds nothing.
    if j.cancelling and kind ~= 'completed' then return nil end
    local missing = missing_blockers(news, kind == 'continued' and 2 or 1)
    local taken = false
    if kind == 'continued' then
      local existing = stored(news[1].t, news[1].id)
      local chain = existing and chain_of(existing)
      -- Also by a chain that failed, while somebody waits for one of its name.
      taken = not is_free(existing) or (chain ~= nil and chain.deps > 0)
    end
    if not missing and not taken then return nil end
    local verdicts = {}
    for index, new in ipairs(news) do
      local blocker = missing and missing[new.token]
      local existing = find_job(new.t, new.id)
      if blocker then verdicts[index] = { 3, blocker[1], blocker[2] }
      elseif existing then verdicts[index] = { 1, 0, standing_of(existing) }
      else verdicts[index] = { 2 } end
    end
    return { 1, verdicts }
  end

  local function state_after(j, o, kind)
    if kind == 'completed' then return COMPLETED end
    if j.cancelling then return CANCELLED end
    if kind == 'continued' then return COMPLETED end
    if kind == 'failed' then return FAILED end
    if kind == 'retry' then
      if j.failures + 1 >= (j.max or INF) then return FAILED end
      return o[9] and QUEUED or FAILING
    end
    return (o[8] and due_at(o[8]) or j.run_at) > now and SCHEDULED or QUEUED
  end

  local function finish_outcome(j, o, kind, state, after)
    if kind == 'continued' and state == COMPLETED then return end_job(j, COMPLETED) end
    local keep = o[7] or nil
    if state == COMPLETED then return finish(j, state, { result = o[6] or nil, keep = keep }, after) end
    if state == CANCELLED then return finish(j, state, {}, after) end
    if kind == 'retry' then keep = nil end
    if o[9] then finish(j, FAILED, { reason = 'stalled', keep = keep }, after)
    else finish(j, FAILED, { error = o[6] or nil, keep = keep }, after) end
  end

  -- The events first: they carry the label of the lease that is given up.
  local function go_on(j, o, kind, state)
    if kind == 'released' then
      event(j, E.requeued, j.failures)
      if o[6] then
        local large = #o[6] > 4096
        forget_payload(j)
        j.payload, j.large = large or o[6], large and o[6] or nil
        encode_body(j)
      end
      if o[8] then
        j.snoozes = j.snoozes + 1
        j.error = o[9] or nil
        go_behind(j, due_at(o[8]))
      end
    else
      if o[6] then j.error = o[6] end
      go_behind(j, o[9] and now or due_at(o[8]))
      if state == FAILING then event(j, E.failing, j.failures) end
    end
    leave_processing(j)
    wait(j, state == FAILING)
  end

  local function record(j, o, kind, news)
    local after = { ended = {}, unblocked = {} }
    local state = state_after(j, o, kind)
    local err = (kind == 'retry' or kind == 'failed') and o[6] or kind == 'released' and o[9] or nil
    if o[12] then
      if j.state == PROCESSING then abort(j) end
      j.label = nil
    end
    if kind == 'completed' and not o[12] then j.by_holder = true
    else end_attempt(j, o[5], state, err, o[3], o[4]) end
    if kind == 'retry' or kind == 'failed' then
      j.failures = j.failures + 1
      if o[9] then event(j, E.stalled, j.failures) end
    end
    if is_terminal(state) then finish_outcome(j, o, kind, state, after) else go_on(j, o, kind, state) end
    local added = {}
    if news and (state == COMPLETED or state == FAILED) then
      added = add_batch(news, nil, kind == 'continued' and j or nil)
    end
    local chain = chain_of(j)
    local at = chain and is_terminal(tail_of(chain).state) and expiry(chain) or false
    if is_terminal(state) then return { 0, state, false, at, added, after.ended, after.unblocked } end
    return { 0, state, j.run_at, false, added, after.ended, after.unblocked }
  end

  local function settle_one(o)
    local j = stored(type_of(o[1]), o[2])
    local recorded = j and ended_attempt(j, o[3], o[4])
    if recorded then
      -- Taken back, or cancelled by force: not ended by its worker.
      if recorded[6] >= OUTCOMES.stalled then return refusal_of(j) end
      -- Sent before: a repeat is answered as the first.
      local chain = chain_of(j)
      return { 0, recorded[7], false, chain and is_terminal(tail_of(chain).state) and expiry(chain) or false, {}, {}, {} }
    end
    if not j or not holds(j, o) then return refusal_of(j) end
    local kind = KINDS[o[5]]
    local news = o[10] and new_jobs(o[10], o[11]) or nil
    local conflict = news and conflict_of(j, kind, news)
    return conflict or record(j, o, kind, news)
  end

  -- A list of outcomes; or a type, and a flat list of id, worker, attempt, keepMs and result of those that complete.
  function settle_all(outcomes, list)
    local verdicts = {}
    if list then
      for at = 5, #list, 5 do
        verdicts[at / 5] = settle_one({ outcomes[1], list[at - 4], list[at - 3], list[at - 2], 0, list[at], list[at - 1] })
      end
    else
      for index, o in ipairs(outcomes) do verdicts[index] = settle_one(o) end
    end
    flush()
    return verdicts
  end
end
`

/** Behind the short way (fast.ts), which has read the arguments. */
export const settleVerb = `
local verdicts = settle_all(outcomes, list)
send()
return pack({ now, verdicts })
`
