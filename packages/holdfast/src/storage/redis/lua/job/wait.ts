// As rules/job/wait.ts: how jobs wait for their runAt. A group has at most its head in the set that claims read, so that a
// busy or paused group costs other claims nothing.

import { stateCodes as state } from '../../../rules/job/codes.ts'
import { eventCodes } from '../../codec/codes.ts'
import { places } from '../move/jobs.ts'

export const wait = `
-- false: now. Below 0: a delay, less one. Otherwise an instant; one in the past is now.
local function due_at(when)
  if not when then return now end
  if when < 0 then return now - when - 1 end
  return math.max(when, now)
end
local function waiting_state(run_at) return run_at <= now and ${state.queued} or ${state.scheduled} end

-- Makes the head claimable if the group may run, and no other member.
local function refresh_group(g)
  local head = head_of(g)
  local may = head and is_waiting(head.state) and not g.running and not g.paused
  local next_id = may and head.id or nil
  if g.placed == next_id then return end
  if g.placed then
    local placed = stored(g.t, g.placed)
    if placed then place(placed, ${places.aside}) end
  end
  g.placed, g.dirty = next_id, true
  if may then
    place(head, ${places.ready})
    wake(g.t)
  end
end

-- Lets a job wait for its runAt.
local function wait(j, failing)
  set_state(j, failing and ${state.failing} or waiting_state(j.run_at))
  if j.group_key then
    place(j, ${places.aside})
    refresh_group(group_of(j.t, j.group_key))
  else
    place(j, ${places.ready})
    wake(j.t)
  end
end

local function tell_waiting(j)
  event(j, j.state == ${state.scheduled} and ${eventCodes.scheduled} or ${eventCodes.queued}, j.failures)
end

-- Takes a job out of the sets it is listed in. The caller sets its next state.
local function leave(j)
  place(j, ${places.nowhere})
  if not j.group_key then return end
  local g = group_of(j.t, j.group_key)
  if g.placed == j.id then g.placed, g.dirty = nil, true end
  if g.running == j.id then g.running, g.dirty = nil, true end
end

-- Puts a job behind all jobs that wait now.
local function go_behind(j, run_at)
  j.run_at = run_at
  j.order = take_number()
end

-- Sets the runAt of a waiting job.
local function reschedule(j, run_at)
  local failing = j.state == ${state.failing}
  leave(j)
  go_behind(j, run_at)
  wait(j, failing)
end

-- Ends a job's membership in its group. The next member may run.
local function leave_group(j)
  if not j.group_key then return end
  local g = group_of(j.t, j.group_key)
  if call('ZREM', g.members, j.id) == 1 then refresh_group(g) end
end
`
