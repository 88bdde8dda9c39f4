// As rules/turns.ts: the turns and limits of one type in a claim. Its groups take turns with each other and with its line, as long as
// the concurrency and the rate of the type allow a start.

/** After ring.ts. Defines limit_turn and end_turn, for types that have limits or a flow. A turn: claim.ts. */
export const turns = `
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
  local own = turn.limits.rate
  if own and frees_at(turn.t.flow, own, weight) > now then
    touch_flow(turn.t)
    turn.t.flow.next_weight, turn.is_stopped = weight, true
    return false
  end
  return true
end

local function count_granted(turn, weight)
  local t, rate = turn.t, turn.limits.rate
  turn.room = turn.room - 1
  if not rate then return end
  touch_flow(t)
  count_start(t.flow, rate, weight)
  t.flow.next_weight = nil
end

-- is_turn: the line was chosen although a group could have been.
local function lease_of_line(turn, is_turn)
  local done, weight = try_line(turn)
  if not done then return false end
  count_granted(turn, weight)
  if is_turn then
    touch_flow(turn.t)
    turn.t.flow.turn_at, turn.t.flow.turn = now, take_number()
  end
  return true
end

-- Leases the best job of a group, which then goes to the back of the ring, or leaves it.
local function lease_of_group(turn, g, j)
  if not j then
    -- Its record is gone. The next change of the group lets it in again.
    set_turn(g, nil)
    return false
  end
  if ends_here(turn, j) or not admits(turn, j) then return false end
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
  count_granted(turn, weight)
  return true
end

local function leave_if_full(turn, g)
  local most = group_limits(turn.limits, g.key)[1]
  if not most or g.running < most then return false end
  g.full = true
  set_turn(g, nil)
  return true
end

-- The first group that is below its limit. Others leave the ring. A type without a flow has none.
local function next_group(turn)
  while turn.t.flow do
    local g = groups_in_turn(turn.t, 1)[1]
    if not g or not leave_if_full(turn, g) then return g end
  end
end

local function lease_in_turn(turn, types)
  while not turn.is_stopped and turn.room > 0 do
    local g = next_group(turn)
    local has = has_line(turn, types)
    if not g and not has then return false end
    if has and (not g or is_turn_before(turn.t.flow, g)) then
      if lease_of_line(turn, g ~= nil) then return true end
    elseif lease_of_group(turn, g, due_job_of(g)) then return true end
  end
  return false
end

local function is_job_before(a, b)
  if a.priority ~= b.priority then return a.priority > b.priority end
  if a.run_at ~= b.run_at then return a.run_at < b.run_at end
  return a.order < b.order
end

-- Without turns: the best job of the line and all groups. Each group is looked at once per call, and again after each job of its
-- own. turn.best: groups and their best jobs, the best one last.
local function compete(turn, g)
  if not g.turn_at or g.turn_at > now or leave_if_full(turn, g) then return end
  local j = due_job_of(g)
  if not j then return set_turn(g, nil) end
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
    local best, has = turn.best[#turn.best], has_line(turn, types)
    if not best and not has then return false end
    if not best or has and is_job_before(stored(turn.t, sub(turn.members[turn.at], 7)), best.job) then
      if lease_of_line(turn, false) then return true end
    else
      table.remove(turn.best)
      -- The end of another job may have stopped the group.
      local has_turn = best.group.turn_at and best.group.turn_at <= now
      local done = has_turn and lease_of_group(turn, best.group, best.job)
      compete(turn, best.group)
      if done then return true end
    end
  end
  return false
end

-- Reads what limits the type, once its lost leases were taken back.
function limit_turn(turn)
  local t = turn.t
  local f, limits = t.flow, read_limits(turn.limits or {})
  turn.is_limited, turn.limits, turn.room = true, limits, INF
  turn.lease_next = limits.fair == false and lease_best or lease_in_turn
  -- Only a rate weighs the jobs of the line, and only without turns are they read, to be compared with others.
  if limits.rate then turn.admits = admits end
  turn.reads_all = limits.fair == false
  if limits.concurrency then turn.room = limits.concurrency - claims.leased(t.p) end
  turn.is_stopped = f and f.slowed and f.slowed > now
    or limits.rate and frees_at(f, limits.rate, f and f.next_weight or 1) > now
end

-- The type knows whether this claim has filled it: then the next job that leaves processing sends a hint.
function end_turn(turn)
  local t = turn.t
  if turn.limits.concurrency then
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
