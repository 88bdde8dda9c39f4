// As rules/job/deadline.ts: a job that was not started in time ends instead of being run.

import { reasonCodes as reason, stateCodes as state } from '../../../rules/job/codes.ts'

export const deadline = `
local function is_overdue(j) return j.deadline ~= nil and j.deadline <= now end

-- ended: takes the job, and those that fail with it.
local function end_overdue(j, ended)
  finish(j, ${state.cancelled}, { reason = ${reason.expired} }, { ended = ended, unblocked = {} })
  ended[#ended + 1] = ended_of(j)
end
`
