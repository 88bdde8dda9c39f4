// Fast path of add for one plain job that is due at once, of a type that no listener watches: what most adds are. It is leased at once to a
// worker that has offered a slot (offers.ts), unless a claim would find another job first.
//
// A server that is called 100 times a second runs each call with cold caches: every further command, table or library function costs
// about 5 µs then, and not 0.5. So the arguments are plain strings, and a type is registered once, not with each job.

import { stateCodes as state } from '../../../rules/job/codes.ts'
import { aheadMark } from '../../../rules/job/ahead.ts'
import { handedLeaseMs } from '../../../rules/job/handed.ts'
import { mostHandedBytes } from './offers.ts'

/**
 * ARGV: the type as it stands in keys, the id and the body. Defines `names` and `list` as the arguments of other adds have them.
 * The field `known` of a type says that `:types` has it; both are removed together (sweep.ts).
 */
export const fastAddOne = `
local names, list
if #ARGV == 3 then
  local id, body, p = ARGV[2], ARGV[3], base .. ARGV[1] .. ':'
  local state = call('HMGET', p .. 'type', 'known', 'watched', 'idle', 'paused', 'prios', 'flow', 'lots')
  local function type_name()
    if ARGV[1] == '%' then return '' end
    return (string.gsub(ARGV[1], '%%(%x%x)', function(code) return char(tonumber(code, 16)) end))
  end
  if not state[2] or tonumber(state[2]) <= now then
    local offers, taken
    if state[3] and not state[4] and not state[5] and not state[6] and not state[7] and #body <= ${mostHandedBytes} then
      offers = {}
      for _, each in ipairs(cmsgpack.unpack(state[3])) do
        if each[5] > now then
          offers[#offers + 1] = each
          taken = taken or each
        end
      end
      local first = taken and call('ZRANGE', p .. 'ready:0', 0, 0, 'WITHSCORES')[2]
      if first and tonumber(first) <= now then taken = nil end
    end
    local number = call('INCR', base .. ':n')
    local record, till
    if taken then
      local worker, label = taken[2] .. '/' .. number .. '${aheadMark}', taken[3]
      till = now + ${handedLeaseMs}
      record = bytes_of('>BI3I6', 0, 0, now) .. body .. bytes_of('>I6I4BI2I2', number, 0, ${state.queued}, #worker + 1, label and #label + 1 or 0)
        .. (label or '') .. bytes_of('>I6d', now, till) .. worker .. bytes_of('>I4I2B', 1, #worker + 1, ${state.processing})
    else
      record = bytes_of('>BI3I6', 0, 0, now) .. body .. bytes_of('>I6I4B', number, 0, ${state.queued})
    end
    if call('SETNX', p .. 'job:' .. id, record) == 1 then
      if taken then
        call('ZADD', p .. 'leases', till, id)
        taken[4] = taken[4] - 1
        if taken[4] == 0 then table.remove(offers, 1) end
        if #offers > 0 then call('HSET', p .. 'type', 'idle', pack(offers)) else call('HDEL', p .. 'type', 'idle') end
      else
        call('ZADD', p .. 'ready:0', now, bytes_of('>I6', number) .. id)
      end
      if not state[1] then
        call('SADD', base .. ':types', type_name())
        call('HSET', p .. 'type', 'known', '')
      end
      call('PUBLISH', p .. 'wake', taken and pack({ id, record }) or '')
      return pack({ now })
    end
  end
  names, list = { { type_name() } }, { 1, id, false, body, false }
else
  names, list = cmsgpack.unpack(ARGV[1]), cmsgpack.unpack(ARGV[2])
end
`
