// As rules/job/finish.ts: how jobs, and with them chains, end; what that does to their dependents; and how they are deleted.
// Invariant: a chain's end, its dependents and its key change in the one move in which its tail ends.

import { standardEnds } from '../../../retention.ts'
import { reasonCodes as reason, stateCodes as state } from '../../../rules/job/codes.ts'
import { blockerFailureCodes as failure } from '../../codec/codes.ts'

export const finish = `
-- A blocker: 1 type  2 id  3 whether it is done
local function ended_of(j)
  return { j.t.name, j.id, j.state, j.reason or false, j.attempt, j.failures, payload_of(j) or false, ref_of(chain_of(j)) }
end

-- j.keep: the number of a retention (storage/retention.ts); or ms for completed, failed and cancelled, in this order.
local function kept_for(j, state)
  local keep = j.keep
  if type(keep) ~= 'number' then return keep[state - ${state.completed} + 1] end
  if keep >= 0 then return keep end
  if state == ${state.completed} then return -2 - keep end
  return state == ${state.failed} and ${standardEnds.failedMs} or ${standardEnds.cancelledMs}
end

-- keep_ms: how long its record is kept, if that is not its own retention.
local function end_job(j, state, reason, result, err, keep_ms)
  leave(j)
  j.reason = reason
  j.result = result
  if state == ${state.completed} or reason then j.error = nil end
  if err then j.error = err end
  j.finished_at = now
  j.cancelling, j.deadline = nil, nil
  set_state(j, state)
  -- A record that is kept for 0 ms is gone: no call could release the group.
  if state == ${state.failed} then begin_hold(j, (keep_ms or kept_for(j, state)) > 0) end
  leave_group(j)
  release_blockers(j)
  -- The event of a state has the number of the state.
  event(j, state, j.failures + (state == ${state.completed} and 1 or 0))
end

local function unblock(j)
  j.run_at = math.max(j.run_at, now)
  wait(j)
  tell_waiting(j)
end

-- True if it was the last open blocker. A chain that is named twice counts once; so does one that ended again after a revival.
local function count_done(j, chain)
  local counted = false
  for _, blocker in ipairs(j.blockers) do
    if not blocker[3] and blocker[2] == chain.id and blocker[1] == chain.t.name then blocker[3], counted = true, true end
  end
  if not counted then return false end
  touch(j)
  j.open = j.open - 1
  return j.open == 0
end

-- Unblocks dependents that may go on. Returns the dependents that fail with the chain.
local function end_chain(j, state, keep_ms, after)
  local chain = chain_of(j)
  chain.expires_at = now + (keep_ms or kept_for(j, state))
  touch(chain)
  free_key(chain, state)
  done(chain)
  local failing = {}
  for _, dependent in ipairs(dependents_of(chain)) do
    if dependent.state == ${state.blocked} then
      if state == ${state.completed} or dependent.waits == ${failure.run} then
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

-- Ends a job whose chain continues with another. It expires by itself; the first job lives as long as its chain.
local function end_continued(j)
  end_job(j, ${state.completed})
  if j.chain then j.expires_at = now + kept_for(j, ${state.completed}) end
end

-- When the record expires, if that is certain. False: it is not.
local function shown_expiry(j)
  local chain = chain_of(j)
  local at = chain and is_terminal(tail_of(chain).state) and expiry(chain) or INF
  if j.chain and is_terminal(j.state) then at = math.min(at, j.expires_at or INF) end
  return at ~= INF and at or false
end

-- Ends a job and with it its chain, whose tail it is; then the jobs whose blocker failed, and their dependents in turn.
local function finish(j, state, more, after)
  end_job(j, state, more.reason, more.result, more.error, more.keep)
  local failing = end_chain(j, state, more.keep, after)
  while #failing > 0 do
    local dependent = table.remove(failing)
    if not is_terminal(dependent.state) then
      end_job(dependent, ${state.failed}, ${reason.blocker_failed})
      after.ended[#after.ended + 1] = ended_of(dependent)
      for _, each in ipairs(end_chain(dependent, ${state.failed}, nil, after)) do failing[#failing + 1] = each end
    end
  end
end

local function jobs_of(chain)
  if not chain.jobs then return { chain } end
  local list = {}
  for _, ref in ipairs(chain.jobs) do
    local j = stored_ref(ref)
    if j == chain or is_part(j, chain) then list[#list + 1] = j end
  end
  return list
end

-- Deletes a chain with all its jobs. Its dependents go on waiting for a chain of this name.
local function forget(chain)
  local list = jobs_of(chain)
  for _, j in ipairs(list) do
    if not is_terminal(j.state) then
      if j.state == ${state.processing} then abort(j) end
      leave(j)
      set_state(j, ${state.cancelled})
      leave_group(j)
      release_blockers(j)
    elseif j.state == ${state.failed} then end_hold(j.t, j.id) end
  end
  forget_key(chain)
  done(chain)
  for _, j in ipairs(list) do erase(j) end
end
`
