// Which job of a type is next: of its line, the jobs without a group, and of its groups.
//
// Limits, as codec/limits.ts packs them: 1 concurrency  2 rate  3 fair  4 limits of every group  5 limits by group: key, limits, …
// Limits of a group: 1 limit  2 rate. A rate: 1 limit  2 perMs. Absent ones are false.

export const order = `
-- The members of due jobs of the line, in the order of their claim, and the sorted set of each: one for all, or a list.
local function due_members(t, count)
  if #t.prios == 0 then
    local set = t.p .. 'ready:0'
    return call('ZRANGEBYSCORE', set, '-inf', now, 'LIMIT', 0, count), set
  end
  local found, sets = {}, {}
  for _, priority in ipairs(priorities(t)) do
    local set = t.p .. 'ready:' .. priority
    for _, member in ipairs(call('ZRANGEBYSCORE', set, '-inf', now, 'LIMIT', 0, count - #found)) do
      found[#found + 1] = member
      sets[#found] = set
    end
    if #found >= count then break end
  end
  return found, sets
end

-- The first groups of the ring whose turn has come.
local function groups_in_turn(t, count)
  local found = call('ZRANGEBYSCORE', t.p .. 'ring', '-inf', now, 'LIMIT', 0, count)
  for index, member in ipairs(found) do found[index] = group_of(t, sub(member, 7)) end
  return found
end

-- The best job of a group that is due: the head of an ordered one, or else by priority, runAt and order.
local function due_job_of(g)
  if g.ordered then
    local head = head_of(g)
    return head and is_waiting(head.state) and head.run_at <= now and head or nil
  end
  for _, priority in ipairs(priorities(g)) do
    local member = call('ZRANGEBYSCORE', wait_set(g, priority), '-inf', now, 'LIMIT', 0, 1)[1]
    if member then return stored(g.t, sub(member, 7)) end
  end
  return nil
end

-- The order of jobs across groups.
local function is_job_before(a, b)
  if a.priority ~= b.priority then return a.priority > b.priority end
  if a.run_at ~= b.run_at then return a.run_at < b.run_at end
  return a.order < b.order
end

-- The order of the ring. The flow of a type has the turn of its line.
local function is_turn_before(f, g)
  local at = f and f.turn_at or 0
  if at ~= g.turn_at then return at < g.turn_at end
  return (f and f.turn or 0) < g.turn
end

-- Limits with those of the groups by key, or nil.
local function read_limits(limits)
  if not limits then return nil end
  local by_key, list = {}, limits[5] or {}
  for at = 1, #list, 2 do by_key[list[at]] = list[at + 1] end
  return { concurrency = limits[1] or nil, rate = limits[2] or nil, fair = limits[3], group = limits[4] or {}, by_key = by_key }
end
local function group_limits(limits, key)
  if not limits then return {} end
  return limits.by_key[key] or limits.group
end
`
