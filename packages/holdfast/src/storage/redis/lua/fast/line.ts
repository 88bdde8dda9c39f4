// Which plain jobs of a type the fast path of claim leases: the first ones of `ready:0` and of `lots` (move/lots.ts), in the order of
// their instants and numbers. Most often one of the two has them all, or comes first as a whole. Otherwise, or if so few jobs are
// wanted that it costs more to cut an entry of lots than to spread it, entries are spread first.

import { spreadLot } from '../move/lots.ts'

/**
 * Leaves the ids in job_ids; `members`, those of ready:0; `used`, entries of lots; `rest`, what is left of the last one; `orders`: the first
 * order and the number of each run of jobs from lots.
 */
export const readLine = `
  local members, used, orders, rest, rest_score = {}, {}, {}, nil, nil
  if is_plain and slots > 0 then
    local found = call('ZRANGEBYSCORE', p .. 'ready:0', '-inf', now, 'WITHSCORES', 'LIMIT', 0, slots)
    -- The first two entries: more than one is needed by most claims of several jobs.
    local first = state[5] and call('ZRANGEBYSCORE', p .. 'lots', '-inf', now, 'WITHSCORES', 'LIMIT', 0, slots < fewest and 1 or 2) or {}
    local taken = 0
    local function take_members(count)
      for at = 1, math.min(#found, 2 * count), 2 do
        members[(at + 1) / 2] = found[at]
        taken = taken + 1
        job_ids[taken] = sub(found[at], 7)
      end
    end
    -- Takes entries of lots, those before a place only. Returns false if it found one that is not.
    local function take_lots(before_score, before_order)
      local offset, entries = 2, first
      while taken < slots do
        if #entries == 0 then return true end
        for at = 1, #entries, 2 do
          local missing = slots - taken
          if missing <= 0 then return true end
          local order, count, from = numbers_of('>I6I2', entries[at])
          local score = tonumber(entries[at + 1])
          if before_score and (score > before_score or score == before_score and order > before_order) then return false end
          local ids = cmsgpack.unpack(sub(entries[at], from))
          used[#used + 1] = entries[at]
          local last = #orders
          if last > 0 and orders[last - 1] + orders[last] == order then orders[last] = orders[last] + math.min(count, missing)
          else orders[last + 1], orders[last + 2] = order, math.min(count, missing) end
          for index = 1, math.min(count, missing) do job_ids[taken + index] = ids[index] end
          taken = taken + math.min(count, missing)
          if count > missing then
            local left = { unpack(ids, missing + 1) }
            rest, rest_score = bytes_of('>I6I2', order + missing, #left) .. pack(left), entries[at + 1]
          end
        end
        if taken < slots then
          entries = call('ZRANGEBYSCORE', p .. 'lots', '-inf', now, 'WITHSCORES', 'LIMIT', offset, 2)
          offset = offset + 2
        end
      end
      return true
    end
    if not first[1] then
      take_members(slots)
    else
      local first_score, first_order = tonumber(first[2]), numbers_of('>I6', first[1])
      -- Whether a place of ready:0 is before all of lots.
      local function is_before(at)
        local score = tonumber(found[at + 1])
        return score < first_score or score == first_score and numbers_of('>I6', found[at]) < first_order
      end
      local last, is_done = #found - 1, false
      if #found == 0 or is_before(last) then
        if #found == 2 * slots or slots >= fewest then
          take_members(slots)
          is_done = take_lots()
        end
      elseif slots >= fewest and not is_before(1) then
        -- All of lots that is taken must be before the first place of ready:0.
        is_done = take_lots(tonumber(found[2]), (numbers_of('>I6', found[1])))
        if is_done then take_members(slots - taken) end
      end
      if not is_done then
        members, used, orders, rest, job_ids, taken = {}, {}, {}, nil, {}, 0
        local most = slots
        while most > 0 and first[1] do
          local entry, score = first[1], first[2]
          ${spreadLot}
          most = most - #ids
          first = call('ZRANGEBYSCORE', p .. 'lots', '-inf', now, 'WITHSCORES', 'LIMIT', 0, 1)
        end
        found = call('ZRANGEBYSCORE', p .. 'ready:0', '-inf', now, 'WITHSCORES', 'LIMIT', 0, slots)
        take_members(slots)
      end
    end
  end
`

export const takeLine = `
      if #members > 0 then call('ZREM', p .. 'ready:0', unpack(members)) end
      if #used > 0 then
        call('ZREM', p .. 'lots', unpack(used))
        if rest then call('ZADD', p .. 'lots', rest_score, rest) end
        if call('HINCRBY', p .. 'type', 'lots', #members - #job_ids) <= 0 then call('HDEL', p .. 'type', 'lots') end
      end
`
