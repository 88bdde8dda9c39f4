// Fast path of add: new plain jobs of one type that no listener watches. For one job that is due at once, see add-one.ts.
//
// The fast paths of this folder stand before the rules. A script runs from its top, and to define all rules takes longer than
// to claim a job. So a fast path answers before the rules are defined. It reads and checks everything first: unless all of it
// is plain (codec/record.ts), it writes nothing, and the rules decide.

import { stateCodes as state } from '../../../rules/job/codes.ts'
import { flags, queuedInLot } from '../../codec/record.ts'
import { mostInLot } from '../move/lots.ts'

/** After fastAddOne. ARGV: the type and its form in keys; for each job its id, when and body. */
export const fastAdd = `
if type(names[1]) == 'string' and #list > 0 and #list <= 6000 then
  local p = base .. names[2] .. ':'
  local count, seen = #list / 3, {}
  local watched = call('HGET', p .. 'type', 'watched')
  local is_plain = not watched or tonumber(watched) <= now
  -- Jobs that are due at once are listed together (move/lots.ts).
  local in_lot = count >= fewest
  for at = 1, #list, 3 do
    if seen[list[at]] then is_plain = false end
    seen[list[at]] = true
    if list[at + 1] then in_lot = false end
  end
  if is_plain then
    local number = call('INCRBY', base .. ':n', count) - count
    local first, ids = number + 1, {}
    local records, members, size = {}, {}, 0
    local job_key, now_text = p .. 'job:', format('%.0f', now)
    local head, head_later = bytes_of('>BI3I6', 0, 0, now), bytes_of('>BI3I6', ${flags.later}, 0, now)
    local queued, scheduled = bytes_of('>I4B', 0, in_lot and ${queuedInLot} or ${state.queued}), bytes_of('>I4B', 0, ${state.scheduled})
    for at = 1, #list, 3 do
      number = number + 1
      local id, when, order, run_at = list[at], list[at + 1], bytes_of('>I6', number), now
      if when then run_at = when < 0 and now - when - 1 or math.max(when, now) end
      records[size + 1] = job_key .. id
      if in_lot then
        ids[(at + 2) / 3] = id
        records[size + 2] = head .. list[at + 2] .. order .. queued
      elseif run_at == now then
        records[size + 2] = head .. list[at + 2] .. order .. queued
        members[size + 1], members[size + 2] = now_text, order .. id
      else
        records[size + 2] = head_later .. bytes_of('>d', run_at) .. list[at + 2] .. order .. scheduled
        members[size + 1], members[size + 2] = run_at, order .. id
      end
      size = size + 2
    end
    if call('MSETNX', unpack(records)) == 1 then
      if in_lot then
        for at = 1, count, ${mostInLot} do
          local some = count <= ${mostInLot} and ids or { unpack(ids, at, math.min(at + ${mostInLot - 1}, count)) }
          call('ZADD', p .. 'lots', now_text, bytes_of('>I6I2', first + at - 1, #some) .. pack(some))
        end
        call('HINCRBY', p .. 'type', 'lots', count)
      else
        call('ZADD', p .. 'ready:0', unpack(members))
      end
      call('SADD', base .. ':types', names[1])
      call('PUBLISH', p .. 'wake', '')
      return pack({ now })
    end
  end
end
`
