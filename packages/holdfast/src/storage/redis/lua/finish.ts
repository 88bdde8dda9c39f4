// As rules/job/attempt.ts, key.ts and finish.ts: how attempts, jobs and with them chains end, what that does to keys and to
// those who wait for them, and how they are forgotten.

export const finish = `
-- ── attempts ──

local OUTCOMES = { completed = 0, retry = 1, failed = 2, released = 3, continued = 4, stalled = 5, cancelled = 6 }

local function leave_processing(j)
  leave(j)
  j.worker, j.label, j.started_at, j.until_at = nil, nil, nil, nil
end

-- The record keeps the last ten.
local function end_attempt(j, outcome, state, err, worker, attempt)
  local entry = { attempt or j.attempt, worker or j.worker, j.label or false, j.started_at or now, now, outcome, state, err or false }
  local list = { unpack(j.attempts or {}) }
  list[#list + 1] = entry
  if #list > 10 then table.remove(list, 1) end
  j.attempts = list
end

-- Of the attempt that completed a job its own fields tell: it has no entry.
local function completion(j)
  return { j.attempt, j.worker, j.label or false, j.started_at, j.finished_at, OUTCOMES.completed, COMPLETED, false }
end
local function ended_attempt(j, worker, attempt)
  if j.by_holder and j.attempt == attempt and j.worker == worker then return completion(j) end
  for _, ended in ipairs(j.attempts or {}) do
    if ended[1] == attempt and ended[2] == worker then return ended end
  end
  return nil
end

-- ── keys: key, id, token, mode (0 simple, 1 throttle), shared, end of the window or false ──

local marks = {}
local function mark_of(t, key)
  local name = t.p .. 'key:' .. key
  if marks[name] == nil then marks[name] = decode(call('GET', name)) or false end
  return marks[name] or nil
end
local function is_same_mark(a, b) return a and b and a[1] == b[1] and a[2] == b[2] and a[3] == b[3] end
-- The record that holds it, as long as there is one.
local function job_of_mark(t, mark)
  local j = stored(t, mark[2])
  return j and j.token == mark[3] and not j.chain and j or nil
end
local function is_in_force(t, mark)
  if mark[6] then return now < mark[6] end
  local j = job_of_mark(t, mark)
  return j ~= nil and not is_gone(j)
end
local function hold_key(t, mark)
  local name = t.p .. 'key:' .. mark[1]
  marks[name] = mark
  local till = mark[4] == 1 and mark[6] and time_text(mark[6])
  if till then
    if mark[6] > now then call('SET', name, pack(mark), 'PXAT', till) else call('DEL', name) end
  else
    call('SET', name, pack(mark))
  end
end
local function drop_key(t, mark)
  local name = t.p .. 'key:' .. mark[1]
  if not is_same_mark(mark_of(t, mark[1]), mark) then return end
  marks[name] = false
  call('DEL', name)
end
-- A chain ended: its key is free, unless its window says otherwise.
local function free_key(chain, state)
  local mark = chain.mark
  if not mark or mark[5] then return end
  if mark[4] == 0 or state ~= COMPLETED then drop_key(chain.t, mark) end
end
-- A record goes. A window outlives it; any other key goes with it.
local function forget_key(chain)
  local mark = chain.mark
  if mark and (mark[4] == 0 or not mark[6]) then drop_key(chain.t, mark) end
end
-- A revived chain has its key again. False if somebody else has it by now.
local function retake_key(chain)
  local mark = chain.mark
  if not mark or mark[5] then return true end
  local holder = mark_of(chain.t, mark[1])
  if is_same_mark(holder, mark) then return true end
  if holder and is_in_force(chain.t, holder) then return false end
  if not mark[6] or mark[6] > now then hold_key(chain.t, mark) end
  return true
end

-- ── dependents: unfinished jobs that name a chain as a blocker ──

local function dependents_of(chain)
  local list = {}
  if chain.deps == 0 then return list end
  for _, ref in ipairs(call('ZRANGE', chain.t.p .. 'deps:' .. chain.id, 0, -1)) do
    local j = stored_ref(cmsgpack.unpack(ref))
    if j then list[#list + 1] = j end
  end
  return list
end
local function add_dependent(chain, j)
  chain.deps = chain.deps + call('ZADD', chain.t.p .. 'deps:' .. chain.id, j.accepted, pack(ref_of(j)))
  touch(chain)
end
-- The chains that it waited for are no longer kept for it.
local function release_blockers(j)
  for _, blocker in ipairs(j.blockers or {}) do
    local chain = stored_ref(blocker)
    if chain and call('ZREM', chain.t.p .. 'deps:' .. chain.id, pack(ref_of(j))) == 1 then
      chain.deps = chain.deps - 1
      touch(chain)
    end
  end
end

-- ── ends ──

local function payload_of(j)
  if j.payload ~= true then return j.payload end
  return j.large or call('GET', j.t.p .. 'pay:' .. j.id)
end
local function ended_of(j)
  return { j.t.name, j.id, j.state, j.reason or false, j.attempt, j.failures, payload_of(j) or false, ref_of(chain_of(j)) }
end

local function end_job(j, state, reason, result, err)
  leave(j)
  j.reason = reason
  j.result = result
  if state == COMPLETED or reason then j.error = nil end
  if err then j.error = err end
  j.finished_at = now
  j.cancelling = nil
  set_state(j, state)
  leave_group(j)
  release_blockers(j)
  -- The events of ends are numbered as their states, less one.
  event(j, state - 1, j.failures + (state == COMPLETED and 1 or 0))
end

local function unblock(j)
  j.run_at = math.max(j.run_at, now)
  wait(j)
  tell_waiting(j)
end

-- True if that was the last one it waited for. A chain that stands in two places counts once.
local function count_done(j, chain)
  touch(j)
  j.open = j.open - 1
  for _, blocker in ipairs(j.blockers) do
    if blocker[2] == chain.id and blocker[1] == chain.t.name then blocker[3] = true end
  end
  return j.open == 0
end

-- 1 completed, 2 failed, 3 cancelled.
local function kept_for(j, state)
  if type(j.keep) == 'number' then return j.keep end
  return j.keep[state - COMPLETED + 1]
end

-- Gives the dependents that fail with it; unblocks those that may go on.
local function end_chain(j, state, keep_ms, after)
  local chain = chain_of(j)
  chain.expires_at = now + (keep_ms or kept_for(j, state))
  touch(chain)
  free_key(chain, state)
  done(chain)
  local failing = {}
  for _, dependent in ipairs(dependents_of(chain)) do
    if dependent.state == BLOCKED then
      if state == COMPLETED then
        if count_done(dependent, chain) then
          unblock(dependent)
          after.unblocked[#after.unblocked + 1] = ref_of(dependent)
        end
      elseif not dependent.waits then
        failing[#failing + 1] = dependent
      end
    end
  end
  return failing
end

-- Ends a job and with it its chain, whose tail it is; and those whose blocker failed, and all who wait for them in turn.
local function finish(j, state, more, after)
  end_job(j, state, more.reason, more.result, more.error)
  local failing = end_chain(j, state, more.keep, after)
  while #failing > 0 do
    local dependent = table.remove(failing)
    if not is_terminal(dependent.state) then
      end_job(dependent, FAILED, 'blocker_failed')
      after.ended[#after.ended + 1] = ended_of(dependent)
      for _, each in ipairs(end_chain(dependent, FAILED, nil, after)) do failing[#failing + 1] = each end
    end
  end
end

local function jobs_of(chain)
  if not chain.jobs then return { chain } end
  local list = {}
  for _, ref in ipairs(chain.jobs) do
    local j = stored_ref(ref)
    if j then list[#list + 1] = j end
  end
  return list
end

-- Deletes a chain with all its jobs. What waits for one of this name goes on waiting.
local function forget(chain)
  local list = jobs_of(chain)
  for _, j in ipairs(list) do
    if not is_terminal(j.state) then
      if j.state == PROCESSING then abort(j) end
      leave(j)
      set_state(j, CANCELLED)
      leave_group(j)
      release_blockers(j)
    end
  end
  forget_key(chain)
  done(chain)
  for _, j in ipairs(list) do erase(j) end
end
`
