// The ring of a type, as claims go along it: the groups whose turn has come, the job that each would start, and the turn of the line.

export const ring = `
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

-- The order of the ring. The flow of a type has the turn of its line.
local function is_turn_before(f, g)
  local at = f.turn_at or 0
  if at ~= g.turn_at then return at < g.turn_at end
  return (f.turn or 0) < g.turn
end
`
