// As rules/revive.ts: let a failed or cancelled job run again, or give a waiting one another runAt.

import { stateCodes as state } from '../../rules/job/codes.ts'
import { blockerFailureCodes as failure, onlyCodes, reviveCodes } from '../codec/codes.ts'

/** ARGV: for each job its type, id, and payload or false; when; which jobs, or false for all. */
export const revive = `
local refs, when, only = unpack(cmsgpack.unpack(ARGV[1]))

local function is_excluded(j)
  return (only == ${onlyCodes.waiting} and not is_waiting(j.state)) or (only == ${onlyCodes.ended} and not is_terminal(j.state))
end

-- The group has unfinished members of the other kind by now.
local function has_other_kind(j)
  local g = j.group_key and group_of(j.t, j.group_key)
  return g and g.ordered ~= nil and g.ordered ~= (j.kind ~= false) and call('EXISTS', g.members) == 1
end

local function revive_one(j, run_at)
  if is_waiting(j.state) then
    reschedule(j, run_at)
    return ${reviveCodes.moved}
  end
  if not is_terminal(j.state) or j.state == ${state.completed} then return ${reviveCodes.not_revivable} end
  for _, blocker in ipairs(j.blockers or {}) do
    if not blocker[3] and not find_chain(blocker) then return ${reviveCodes.not_revivable} end
  end
  local chain = chain_of(j)
  if has_other_kind(j) or not retake_key(chain) then return ${reviveCodes.conflict} end
  chain.expires_at = nil
  touch(chain)
  -- The blockers are counted anew. The job waits for one that has failed, because the caller asked for another run.
  go_behind(j, run_at)
  j.failures, j.reason, j.error, j.finished_at, j.cancel_reason = 0, nil, nil, nil, nil
  j.worker, j.label, j.started_at, j.until_at = nil, nil, nil, nil
  set_state(j, ${state.blocked})
  -- To its old place: groups keep the order of acceptance.
  if j.group_key then join_group(j) end
  end_hold(j.t, j.id)
  if j.blockers then block_job(j, j.waits or ${failure.wait}) else unblock(j) end
  if j.group_key then refresh_group(group_of(j.t, j.group_key)) end
  return ${reviveCodes.revived}
end

local answers = {}
for index, ref in ipairs(refs) do
  local j = find_ref(ref)
  local code = ${reviveCodes.not_found}
  if j then code = is_excluded(j) and ${reviveCodes.not_revivable} or revive_one(j, due_at(when)) end
  if ref[3] and (code == ${reviveCodes.revived} or code == ${reviveCodes.moved}) then set_payload(j, ref[3]) end
  answers[index] = code
end
flush()
send()
return pack({ now, answers })
`
