// As rules/job/standing.ts: the job that stands after an add, with the state and result of the chain it begins.

import { stateCodes as state } from '../../../rules/job/codes.ts'

export const standing = `
-- A scheduled job that is due reads as queued.
local function state_of(j)
  if j.state == ${state.scheduled} and j.run_at <= now then return ${state.queued} end
  return j.state
end

local function standing_of(j)
  local last = j.chain and j or tail_of(j)
  local state = state_of(last)
  return j.t.name, j.id, j.token, state, state == ${state.completed} and last.result or false, j.created_at
end
`
