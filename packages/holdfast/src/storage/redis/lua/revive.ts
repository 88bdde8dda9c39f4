// As rules/revive.ts: let a failed or cancelled job run again, or give a waiting one another runAt.

import { stateCodes as state } from '../../rules/job/codes.ts'
import { reviveCodes } from '../codec/codes.ts'

/** ARGV: refs, when. */
export const revive = `
local refs, when = unpack(cmsgpack.unpack(ARGV[1]))

local function revive_one(j, run_at)
  if is_waiting(j.state) then
    local failing = j.state == ${state.failing}
    leave(j)
    go_behind(j, run_at)
    wait(j, failing)
    return ${reviveCodes.moved}
  end
  if not is_terminal(j.state) or j.state == ${state.completed} then return ${reviveCodes.not_revivable} end
  for _, blocker in ipairs(j.blockers or {}) do
    if not blocker[3] and not find_ref(blocker) then return ${reviveCodes.not_revivable} end
  end
  local chain = chain_of(j)
  if not retake_key(chain) then return ${reviveCodes.conflict} end
  chain.expires_at = nil
  touch(chain)
  -- The blockers are counted anew. The job waits for one that has failed, because the caller asked for another run.
  go_behind(j, run_at)
  j.failures, j.reason, j.error, j.finished_at, j.cancel_reason = 0, nil, nil, nil, nil
  j.worker, j.label, j.started_at, j.until_at = nil, nil, nil, nil
  set_state(j, ${state.blocked})
  -- To its old place: groups keep the order of acceptance.
  if j.group_key then join_group(j) end
  if j.blockers then block_job(j, true) else unblock(j) end
  if j.group_key then refresh_group(group_of(j.t, j.group_key)) end
  return ${reviveCodes.revived}
end

local answers = {}
for index, ref in ipairs(refs) do
  local j = find_ref(ref)
  answers[index] = j and revive_one(j, due_at(when)) or ${reviveCodes.not_found}
end
flush()
send()
return pack({ now, answers })
`
