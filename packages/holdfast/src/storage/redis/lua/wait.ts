// As rules/job/wait.ts: in line, or behind the head of their group, with which a group takes part in the line.

export const wait = `
-- false: now. Below 0: a delay, less one. Otherwise an instant; one in the past is now.
local function due_at(when)
  if not when then return now end
  if when < 0 then return now - when - 1 end
  return math.max(when, now)
end
local function waiting_state(run_at) return run_at <= now and QUEUED or SCHEDULED end

-- Lets the head stand in line if it may run, and nobody else.
local function refresh_group(g)
  local head = head_of(g)
  local may = head and is_waiting(head.state) and not g.running and not g.paused
  local next_id = may and head.id or nil
  if g.placed == next_id then return end
  if g.placed then
    local placed = stored(g.t, g.placed)
    if placed then place(placed, ASIDE) end
  end
  g.placed, g.dirty = next_id, true
  if may then
    place(head, LINE)
    wake(g.t)
  end
end

-- Lets a job wait for its runAt.
local function wait(j, failing)
  set_state(j, failing and FAILING or waiting_state(j.run_at))
  if j.group_key then
    place(j, ASIDE)
    refresh_group(group_of(j.t, j.group_key))
  else
    place(j, LINE)
    wake(j.t)
  end
end

local function tell_waiting(j) event(j, j.state == SCHEDULED and E.scheduled or E.queued, j.failures) end

-- Takes a job out of wherever it stands. The caller gives it its next state.
local function leave(j)
  place(j, NOWHERE)
  if not j.group_key then return end
  local g = group_of(j.t, j.group_key)
  if g.placed == j.id then g.placed, g.dirty = nil, true end
  if g.running == j.id then g.running, g.dirty = nil, true end
end

-- Puts a job behind all that waits now.
local function go_behind(j, run_at)
  j.run_at = run_at
  j.order = take_number()
end

-- At the end of its life; the next one may come.
local function leave_group(j)
  if not j.group_key then return end
  local g = group_of(j.t, j.group_key)
  if call('ZREM', g.members, j.id) == 1 then refresh_group(g) end
end
`
