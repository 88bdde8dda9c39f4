// As rules/recover.ts: take back lost leases, and attempts over an age.

import { aheadLeaseMs, aheadMark } from '../../rules/job/ahead.ts'
import { outcomeCodes as outcome, reasonCodes as reason, stateCodes as state } from '../../rules/job/codes.ts'
import { eventCodes as event } from '../codec/codes.ts'

/** Also for the lost leases that a claim finds. */
export const recoverRules = `
local function is_ahead(worker) return sub(worker, -${aheadMark.length}) == '${aheadMark}' end

-- Ends the attempt of a job in processing as stalled. It costs no attempt if the job may not have been started. max: attempts of
-- jobs that have no number of their own.
local function take_back(j, ended, max)
  local attempt, worker, label = j.attempt, j.worker, j.label
  local costs_attempt = not is_ahead(worker) or j.until_at - j.started_at > ${aheadLeaseMs}
  if costs_attempt then j.failures = j.failures + 1 end
  event(j, ${event.stalled}, j.failures)
  abort(j)
  local after = { ended = ended, unblocked = {} }
  if j.cancelling then
    record_attempt(j, ${outcome.stalled}, ${state.cancelled})
    finish(j, ${state.cancelled}, {}, after)
    ended[#ended + 1] = ended_of(j)
  elseif costs_attempt and j.failures >= (j.max or max or INF) then
    record_attempt(j, ${outcome.stalled}, ${state.failed})
    finish(j, ${state.failed}, { reason = ${reason.stalled} }, after)
    ended[#ended + 1] = ended_of(j)
  else
    record_attempt(j, ${outcome.stalled}, ${state.queued})
    leave_processing(j)
    if costs_attempt then go_behind(j, now) end
    wait(j)
  end
  return { j.t.name, j.id, worker, attempt, label or false, j.state }
end
`

/** ARGV: types, limit, olderThanMs or false. */
export const recover = `
local names, limit, older = unpack(cmsgpack.unpack(ARGV[1]))
local recovered = {}
for _, name in ipairs(names) do
  local t = type_of(name)
  claims.spread(t.p, '-inf', older and '+inf' or now, older and INF or limit - #recovered)
  local ids
  if older then ids = call('ZRANGE', t.p .. 'leases', 0, -1)
  else ids = call('ZRANGEBYSCORE', t.p .. 'leases', '-inf', now, 'LIMIT', 0, math.min(limit - #recovered, 100000)) end
  for _, id in ipairs(ids) do
    if #recovered >= limit then break end
    local j = stored(t, id)
    if not j then call('ZREM', t.p .. 'leases', id)
    elseif j.until_at <= now or (older and now - j.started_at > older) then recovered[#recovered + 1] = take_back(j, {}) end
  end
end
flush()
send()
return pack({ now, recovered })
`
