// As rules/turns.ts: the turns and limits of one type in a claim. Its groups take turns with each other and with its line, as long as
// the concurrency and the rate of the type allow a start.

import { reasonCodes as reason, stateCodes as state } from '../../../rules/job/codes.ts'

export const turns = `
function open_turn(t, index, each)
  local till = now + each[2]
  return {
    t = t, index = index, till = till, till_text = till ~= INF and format('%.17g', till) or till,
    left = math.min(each[3] or INF, slots), max = each[4] or nil, limits = read_limits(each[6]),
    rems = {}, records = {}, leases = {}, size = 0, members = {}, at = 1,
    -- By the number of earlier attempts.
    lease = setmetatable({}, { __index = function(leases, attempts)
      leases[attempts] = lease_bytes(worker, label or nil, now, till, attempts + 1)
      return leases[attempts]
    end }),
  }
end

-- Reads what limits the type, once its lost leases were taken back.
function limit_turn(turn)
  local t, limits = turn.t, turn.limits or {}
  local f = t.flow
  turn.room, turn.rate = INF, limits.rate
  if limits.concurrency then turn.room = limits.concurrency - call('ZCARD', t.p .. 'leases') end
  turn.is_stopped = f and f.slowed and f.slowed > now or turn.rate and frees_at(f, turn.rate, f and f.next_weight or 1) > now
end

-- True if the job ends here instead of being run: it takes nothing of a limit, and no turn.
local function ends_here(turn, j)
  if is_overdue(j) then
    end_overdue(j, ended)
  elseif j.failures < (j.max or turn.max or INF) then
    return false
  else
    finish(j, ${state.failed}, { reason = ${reason.stalled} }, { ended = ended, unblocked = {} })
    ended[#ended + 1] = ended_of(j)
  end
  -- The end may have unblocked a job of the line.
  turn.is_dry = false
  return true
end

-- False if a rate has no room for the job. If it is that of the type, nothing overtakes the job.
local function admits(turn, j)
  local g, weight = j.group_key and group_of(j.t, j.group_key), j.weight or 1
  local rate = g and group_limits(turn.limits, g.key)[2]
  local free_at = rate and frees_at(g, rate, weight) or now
  if free_at > now then
    -- The group waits for this instant, whatever happens to the job.
    g.free_at, g.dirty = free_at, true
    refresh_group(g)
    return false
  end
  if turn.rate and frees_at(turn.t.flow, turn.rate, weight) > now then
    touch_flow(turn.t)
    turn.t.flow.next_weight, turn.is_stopped = weight, true
    return false
  end
  return true
end

-- A job was leased: counts it. is_turn: the line was chosen although a group could have been.
local function count_granted(turn, weight, is_turn)
  local t = turn.t
  turn.room = turn.room - 1
  if not turn.rate and not is_turn then return end
  touch_flow(t)
  if turn.rate then
    count_start(t.flow, turn.rate, weight)
    t.flow.next_weight = nil
  end
  if is_turn then t.flow.turn_at, t.flow.turn = now, take_number() end
end

-- Leases the job of a group, which then goes to the back of the ring, or leaves it.
local function grant_of_group(turn, g, j)
  local limits, weight = group_limits(turn.limits, g.key), j.weight or 1
  unlist_waiting(g, j)
  grant(turn, j)
  g.running, g.dirty = g.running + 1, true
  if not g.ordered and limits[1] and g.running >= limits[1] then g.full = true end
  if limits[2] then
    count_start(g, limits[2], weight)
    g.free_at = frees_at(g, limits[2], 1)
  end
  set_turn(g, turn_at_of(g))
  count_granted(turn, weight, false)
end

-- Leases the first job of the line. False: it ended here, or no rate has room for it.
local function try_line(turn, is_turn)
  -- Only the record of a plain job that a rate must weigh is read as a whole.
  local is_plain = not turn.rate and grant_line(turn)
  local j = not is_plain and job_of_line(turn)
  if j and not ends_here(turn, j) then
    if not admits(turn, j) then return false end
    grant(turn, j)
  elseif j then
    turn.at = turn.at + 1
    return false
  end
  turn.at = turn.at + 1
  count_granted(turn, j and j.weight or 1, is_turn)
  return true
end

local function leave_if_full(turn, g)
  local most = group_limits(turn.limits, g.key)[1]
  if not most or g.running < most then return false end
  g.full = true
  set_turn(g, nil)
  return true
end

-- The first group of the ring that is below its limit. Others leave the ring.
local function next_group(turn)
  while true do
    local g = groups_in_turn(turn.t, 1)[1]
    if not g or not leave_if_full(turn, g) then return g end
  end
end

local function try_group(turn, g, j)
  if not j then
    -- The record of its due job is gone. The next change of the group lets it in again.
    set_turn(g, nil)
    return false
  end
  if ends_here(turn, j) or not admits(turn, j) then return false end
  grant_of_group(turn, g, j)
  return true
end

-- Without turns: the best job of the line and all groups. Each group is looked at once per call, and again after each job of its
-- own. turn.best: groups and their best jobs, the best one last.
local function compete(turn, g)
  if not g.turn_at or g.turn_at > now or leave_if_full(turn, g) then return end
  local j = due_job_of(g)
  if not j then return try_group(turn, g, nil) end
  local low, high = 1, #turn.best + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if is_job_before(turn.best[middle].job, j) then high = middle else low = middle + 1 end
  end
  table.insert(turn.best, low, { group = g, job = j })
end
local function lease_best(turn, types)
  if not turn.best then
    turn.best = {}
    for _, g in ipairs(groups_in_turn(turn.t, -1)) do compete(turn, g) end
  end
  while not turn.is_stopped and turn.room > 0 do
    local best, has = table.remove(turn.best), has_line(turn, types)
    if not best and not has then return false end
    if not best or has and is_job_before(job_of_line(turn), best.job) then
      if best then turn.best[#turn.best + 1] = best end
      if try_line(turn, false) then return true end
    else
      -- The end of another job may have stopped the group.
      local has_turn = best.group.turn_at and best.group.turn_at <= now
      local done = has_turn and try_group(turn, best.group, best.job)
      compete(turn, best.group)
      if done then return true end
    end
  end
  return false
end

-- Leases the job of a type whose turn it is. False: the type has none, or its limits allow none.
function lease_next(turn, types)
  if turn.limits and not turn.limits.fair then return lease_best(turn, types) end
  while not turn.is_stopped and turn.room > 0 do
    -- A type without a flow has no group in the ring.
    local g = turn.t.flow and next_group(turn) or nil
    local has = has_line(turn, types)
    if not g and not has then return false end
    if has and (not g or is_turn_before(turn.t.flow, g)) then
      if try_line(turn, g ~= nil) then return true end
    elseif try_group(turn, g, due_job_of(g)) then return true end
  end
  return false
end

-- Writes what the claim took. It says whether it has filled the type: then the next job that leaves processing sends a hint.
function write_turn(turn)
  local t = turn.t
  write_plain(turn)
  if turn.limits and turn.limits.concurrency then
    local is_full = turn.room <= 0 or nil
    if is_full then freed[t] = nil end
    if is_full ~= (t.flow and t.flow.full or nil) then
      touch_flow(t)
      t.flow.full = is_full
    end
  end
  if t.flow and drop_over(t.flow) then touch_flow(t) end
end
`
