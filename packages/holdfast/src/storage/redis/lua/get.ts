// As rules/get.ts: records as they are at one instant. codec/job-record.ts reads the answer. A chain of one job is its own tail, which
// is answered as true: nearly every chain that a list reads.

import { stateCodes as state } from '../../rules/job/codes.ts'

/** ARGV: refs, each type and id, or type, key and true; the parts asked for, as a map. */
export const get = `
local refs, asked = unpack(cmsgpack.unpack(ARGV[1]))

local function record_of(j, with_tail)
  local chain = chain_of(j)
  local tail = tail_of(chain)
  local running = j.state == ${state.processing}
  local blockers = {}
  for index, blocker in ipairs(j.blockers or {}) do blockers[index] = { blocker[1], blocker[2] } end
  local progress, log = false, asked.log and { 0, {} }
  if j.report and (asked.progress or asked.log) then
    local values, lines = report_keys(j)
    local found = call('HMGET', values, 'progress', 'dropped')
    if asked.progress then progress = found[1] end
    if asked.log then log = { tonumber(found[2] or 0), call('LRANGE', lines, 0, -1) } end
  end
  return {
    j.t.name, j.id, j.token, state_of(j), j.reason or false, j.attempt, j.failures, j.snoozes, j.max or false, j.priority,
    j.group_key or false, chain.mark and chain.mark[1] or false, j.keep, j.trace or false, j.created_at, j.run_at,
    j.started_at or false, j.finished_at or false, shown_expiry(j), j.label or false,
    running and j.worker or false, running and j.until_at or false, running and j.cancelling or false, j.cancel_reason or false,
    ref_of(chain), j.index, j.root or j.chain or ref_of(j), j.origin or false, j.open,
    asked.payload and payload_of(j) or false, asked.result and j.result or false, asked.error and j.error or false,
    asked.attempts and attempts_of(j) or false, asked.blockers and blockers or false,
    with_tail and not j.chain and (tail == j or record_of(tail, false)) or false,
    j.timeout or false, j.deadline or false, j.search or false, progress or false, log or false,
    j.weight or false,
  }
end

-- The job that holds a key now, if it has a record.
local function holder_of(t, key)
  local mark = mark_of(t, key)
  local j = mark and is_in_force(t, mark) and job_of_mark(t, mark)
  return j and not is_gone(j) and j or nil
end

local answers = {}
for index, ref in ipairs(refs) do
  local j
  if ref[3] then j = holder_of(type_of(ref[1]), ref[2]) else j = find_ref(ref) end
  answers[index] = j and record_of(j, asked.tail) or false
end
return pack({ now, answers })
`
