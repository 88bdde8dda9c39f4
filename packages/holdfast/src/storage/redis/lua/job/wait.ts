// As rules/job/wait.ts: how jobs wait for their runAt. The members of a group wait aside. Claims find the group in the ring of its
// type, while it has a job that may run: a busy, full, held or paused group is not there, and costs other claims nothing.

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

-- From when a group may be claimed. Nil: it has no job that may run.
local function turn_at_of(g)
  if g.paused or g.held or g.full then return nil end
  local at
  if g.ordered then
    local head = g.running == 0 and head_of(g)
    at = head and is_waiting(head.state) and head.run_at or nil
  else
    at = first_run_at(g)
  end
  return at and math.max(now, at, g.slowed or 0, g.free_at or 0)
end

-- Lets a group enter or leave the ring, or changes its turn. While it may be claimed, it keeps its place.
local function refresh_group(g)
  local at = turn_at_of(g)
  if at == g.turn_at or (at and g.turn_at and at <= now and g.turn_at <= now) then return end
  local is_earlier = at and (not g.turn_at or at < g.turn_at)
  set_turn(g, at)
  if is_earlier then wake(g.t) end
end

-- Lets a job wait for its runAt.
local function wait(j, failing)
  set_state(j, failing and ${state.failing} or waiting_state(j.run_at))
  if j.group_key then
    local g = group_of(j.t, j.group_key)
    place(j, ${places.aside})
    list_waiting(g, j)
    -- A due job changes nothing of a group that may be claimed.
    if j.run_at > now or not g.turn_at or g.turn_at > now then refresh_group(g) end
    if g.turn_at then wake(j.t) end
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
  local from = j.place
  j.from = from
  place(j, ${places.nowhere})
  if from == ${places.leases} and j.t.flow and j.t.flow.full then free_limit(j.t) end
  if not j.group_key then return end
  local g = group_of(j.t, j.group_key)
  if from == ${places.aside} then unlist_waiting(g, j) end
  -- The caller refreshes the group.
  if from == ${places.leases} then g.running, g.full, g.dirty = g.running - 1, nil, true end
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
  call('ZREM', g.members, j.id)
  g.dirty = true
  -- The turn of an unordered group depends on its waiting jobs only.
  if g.ordered or not g.turn_at or j.from ~= ${places.leases} then refresh_group(g) end
end
`
