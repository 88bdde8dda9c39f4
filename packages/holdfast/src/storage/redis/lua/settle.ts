// As moves/settle.ts: record outcomes where the fence still matches.
// Invariant: nothing is written unless (type, id, worker, attempt) is the lease in force, or the expected tail.
//
// An outcome: 1 type  2 id  3 worker (without one: the token)  4 attempt  5 kind  6 result, error or payload  7 keepMs
//   8 when  9 stalled  10 types and  11 list of the jobs that come along, `next` first  12 chain's type  13 its id

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
    local missing = missing_blockers(news)
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
    local err = (kind == 'retry' or kind == 'failed') and o[6] or nil
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

  -- Nearly every outcome completes a job that is alone. Those come as a flat list of id, worker, attempt, keepMs and result,
  -- and are written without a table for each. A verdict is then when the record goes (true: never).
  local function complete_plain(t, list, verdicts)
    local keys, job_key, count = {}, t.p .. 'job:', #list / 5
    for index = 1, count do keys[index] = job_key .. list[5 * index - 4] end
    local records = call('MGET', unpack(keys))
    local leases, ended, size = {}, {}, 0
    local worker, attempt, fence, keep, at, at_text, till
    local finished, completed_state, seen = bytes_of('>I6', now), char(BY_HOLDER), {}
    local index = 1
    while index <= count do
      local from = 5 * index
      local record = records[index]
      if list[from - 3] ~= worker or list[from - 2] ~= attempt then
        worker, attempt = list[from - 3], list[from - 2]
        fence = bytes_of('>BI4I2', PROCESSING, attempt, #worker + 1) .. worker
      end
      local id, result = list[from - 4], list[from]
      -- Nothing but the lease in force begins so. One that is named twice was ended by its first mention.
      if not record or seen[id] or sub(record, 1, #fence) ~= fence then break end
      seen[id] = true
      local label = numbers_of('>I2', record, #fence + 1)
      local flags_at = #fence + 17 + (label > 0 and label - 1 or 0)
      local flags = byte(record, flags_at)
      if flags % 4 >= MORE_FLAG then break end
      local own = list[from - 1]
      if not own then
        local body_at = flags_at + 16 + (flags % 2 == LATER_FLAG and 8 or 0)
        local _, body = unpack_one(record, body_at - 1)
        own = body[4]
        if type(own) == 'table' then own = own[1] end
      end
      if own ~= keep then
        keep, at = own, now + own
        at_text, till = at == INF and '+inf' or string.format('%.17g', at), time_text(at)
      end
      local tail = finished .. bytes_of('>dB', at, result and 1 or 0)
      record = completed_state .. sub(record, 2) .. tail
      if result then record = record .. result end
      if not till then call('SET', keys[index], record)
      elseif at <= now then call('UNLINK', keys[index])
      else call('SET', keys[index], record, 'PXAT', till) end
      leases[index] = id
      ended[size + 1], ended[size + 2] = at_text, id
      size = size + 2
      verdicts[index] = at == INF or at
      if t.watched then
        local name = label > 0 and sub(record, #fence + 3, #fence + 1 + label) or nil
        event({ t = t, id = id, label = name }, E.completed, numbers_of('>I3', record, flags_at + 1) + 1)
      end
      index = index + 1
    end
    if #leases > 0 then
      call_many('ZREM', t.p .. 'leases', leases)
      call_many('ZADD', t.p .. 'done:5', ended)
      dones[t] = leases
    end
    return index
  end

  -- outcomes: a list of them; or the name of a type, and those that complete a job of it.
  function settle_all(outcomes, plain)
    local verdicts = {}
    if type(outcomes) == 'string' then
      local t = type_of(outcomes)
      local index = #plain <= 20000 and complete_plain(t, plain, verdicts) or 1
      for at = 5 * index, #plain, 5 do
        verdicts[at / 5] = settle_one({ outcomes, plain[at - 4], plain[at - 3], plain[at - 2], 0, plain[at], plain[at - 1] })
      end
    else
      for index, o in ipairs(outcomes) do verdicts[index] = settle_one(o) end
    end
    flush()
    return verdicts
  end
end
`

export const settleVerb = `
local verdicts = settle_all(cmsgpack.unpack(ARGV[1]), decode(ARGV[2]))
send()
return pack({ now, verdicts })
`
