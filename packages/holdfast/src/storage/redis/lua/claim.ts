// As rules/claim.ts: settle the outcomes at hand, take back lost leases, then lease due jobs, one of each type in turn. claim/turns.ts
// chooses the jobs of a type.
// The answer is a packed list, then for each job its record as it is now, followed by its payload if that has a key of its
// own, and by the results of its blockers if it has some.

import { limits } from './claim/limits.ts'
import { line } from './claim/line.ts'
import { ring } from './claim/ring.ts'
import { turns } from './claim/turns.ts'
import { rate } from './job/rate.ts'

/** Lost leases taken back by one call, at most, per type. */
const recoverLimit = 1_000

/** After fastClaim, which has read the arguments. */
export const claim = `
local worker, label, slots, wanted = unpack(request)
local settled = outcomes and settle_all(outcomes, ARGV[3] and list) or {}
local recovered, ended, granted, ids, kinds = {}, {}, {}, {}, {}
local ahead = is_ahead(worker)
${line}
local function take_back_lost(t, max)
  claims.spread(t.p, '-inf', now, ${recoverLimit})
  for _, id in ipairs(call('ZRANGEBYSCORE', t.p .. 'leases', '-inf', now, 'LIMIT', 0, ${recoverLimit})) do
    local j = stored(t, id)
    if j then recovered[#recovered + 1] = take_back(j, ended, max) else call('ZREM', t.p .. 'leases', id) end
  end
end

-- A turn: what the claim does with one type.
local all, open, limited = {}, {}, {}
for index, each in ipairs(wanted) do
  local t = type_of(each[1])
  if not t.paused then
    take_back_lost(t, each[4] or nil)
    local till = now + each[2]
    all[#all + 1] = {
      t = t, index = index, till = till, till_text = till ~= INF and format('%.17g', till) or till,
      left = math.min(each[3] or INF, slots), max = each[4] or nil, limits = each[6] or nil, lease_next = lease_line,
      rems = {}, records = {}, leases = {}, size = 0, members = {}, at = 1,
      -- By the number of earlier attempts.
      lease = setmetatable({}, { __index = function(leases, attempts)
        leases[attempts] = lease_bytes(worker, label or nil, now, till, attempts + 1)
        return leases[attempts]
      end }),
    }
    open[#open + 1] = all[#all]
  end
end
flush()

-- A type is closed once it has no job that may be leased.
local at, limit_turn, end_turn = 1
while #open > 0 and #granted < slots do
  if at > #open then at = 1 end
  local turn = open[at]
  -- Nothing of a type with groups or limits is claimed ahead.
  if ahead and (turn.limits or turn.t.flow) then turn.left = 0
  elseif not turn.is_limited and (turn.limits or turn.t.flow) then
    -- To define these functions takes longer than to claim a job, and most types need none of them.
    if not limit_turn then
      local function define_turns()
${rate}${limits}${ring}${turns}
      end
      define_turns()
    end
    limit_turn(turn)
    limited[#limited + 1] = turn
  end
  if turn.left > 0 and turn.lease_next(turn, #open) then
    turn.left = turn.left - 1
    at = at + 1
  -- A job that ended in this call may have given a group its turn, in a type that had none.
  elseif turn.left <= 0 or turn.is_limited or not turn.t.flow then
    table.remove(open, at)
  end
end
for _, turn in ipairs(all) do write_plain(turn) end
for _, turn in ipairs(limited) do end_turn(turn) end
flush()

-- Each claim that comes here removes some expired ids from the sets of ends. The sweep removes the rest.
for _, turn in ipairs(all) do ends.drop_expired(turn.t.p) end
send()
table.insert(granted, 1, pack({ now, settled, recovered, ended, ids, #wanted > 1 and kinds }))
return granted
`
