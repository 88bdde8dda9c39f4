// As rules/job/attempt.ts: how an attempt ends. The record keeps the last attempts, so that a repeated settle is answered as
// the first. The attempt that completed a job has no entry: the job's own fields describe it.
//
// An entry: 1 attempt  2 worker  3 label  4 startedAt  5 endedAt  6 outcome  7 state reached  8 error

import { attemptsKept, outcomeCodes, stateCodes as state } from '../../../rules/job/codes.ts'

export const attempt = `
local function leave_processing(j)
  leave(j)
  j.worker, j.label, j.started_at, j.until_at = nil, nil, nil, nil
end

local function record_attempt(j, outcome, state, err, worker, attempt)
  local entry = { attempt or j.attempt, worker or j.worker, j.label or false, j.started_at or now, now, outcome, state, err or false }
  local list = { unpack(j.attempts or {}) }
  list[#list + 1] = entry
  if #list > ${attemptsKept} then table.remove(list, 1) end
  j.attempts = list
end

local function completion(j)
  return { j.attempt, j.worker, j.label or false, j.started_at, j.finished_at, ${outcomeCodes.completed}, ${state.completed}, false }
end

-- The attempt with this fence, if it has ended.
local function find_attempt(j, worker, attempt)
  if j.by_holder and j.attempt == attempt and j.worker == worker then return completion(j) end
  for _, ended in ipairs(j.attempts or {}) do
    if ended[1] == attempt and ended[2] == worker then return ended end
  end
  return nil
end

-- The attempts that a record shows, the last one at the end.
local function attempts_of(j)
  local list = { unpack(j.attempts or {}) }
  if j.by_holder then list[#list + 1] = completion(j) end
  while #list > ${attemptsKept} do table.remove(list, 1) end
  return list
end
`
