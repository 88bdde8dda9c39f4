// sweep: Redis expires records and keys by itself. What is left is to remove their ids from the sets of ends, types without
// jobs, and kv entries from their indexes.

import { stateCodes as state } from '../../rules/job/codes.ts'

/** ARGV: the limit. */
export const sweep = `
local limit = tonumber(ARGV[1])
local swept, entries, more = 0, 0, false
for _, name in ipairs(call('SMEMBERS', base .. ':types')) do
  local t = type_of(name)
  for state = ${state.completed}, ${state.cancelled} do
    local set = t.p .. 'done:' .. state
    for _, id in ipairs(call('ZRANGEBYSCORE', set, '-inf', now, 'LIMIT', 0, math.max(0, limit - swept) + 1)) do
      if swept >= limit then
        more = true
        break
      end
      local j = stored(t, id)
      local chain = j and chain_of(j)
      if not j then
        call('ZREM', set, id)
        put(dones, t, id)
        swept = swept + 1
      elseif not chain then
        erase(j)
        swept = swept + 1
      elseif is_gone(j) then
        swept = swept + #jobs_of(chain)
        forget(chain)
      end
    end
    flush()
  end
  -- A watched type stays, so that a later sweep finds its hash.
  local known = t.paused or t.watched or call('EXISTS', t.p .. 'paused', t.p .. 'blocked', t.p .. 'aside', t.p .. 'leases',
    t.p .. 'done:${state.completed}', t.p .. 'done:${state.failed}', t.p .. 'done:${state.cancelled}') > 0
  for _, priority in ipairs(priorities(t)) do known = known or call('EXISTS', t.p .. 'ready:' .. priority) == 1 end
  if not known then
    call('SREM', base .. ':types', name)
    call('DEL', t.p .. 'type')
  end
end
for _, key in ipairs(call('ZRANGEBYSCORE', base .. ':kvx', '-inf', now, 'LIMIT', 0, math.min(limit, 1000000) + 1)) do
  if entries >= limit then
    more = true
    break
  end
  call('ZREM', base .. ':kvx', key)
  call('ZREM', base .. ':kv', key)
  call('UNLINK', base .. ':kv:' .. key)
  entries = entries + 1
end
send()
return pack({ now, swept, entries, more })
`
