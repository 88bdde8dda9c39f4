// Ends by batch. Jobs that complete in one call, and are kept for the same time, expire at the same instant. So the fast path lists them
// in one entry of `ends`, by that instant, instead of one entry each in `done:5`:
//
//   ends   sorted set: the instant (8 bytes, a double), the number of ids (2), the ids, packed
//
// The field `ended` of the type has the number of jobs in all entries. A job that is changed by the rules, or that a list or a sweep
// comes to, has its entry spread: all of its ids are listed in `done:5` from then on.

import { stateCodes as state } from '../../../rules/job/codes.ts'

/** Ids of one entry, at most: as many are listed at once when an entry is spread. */
export const mostInBatch = 128

/** A table of functions: Lua allows 200 locals at once. */
export const ends = `
local ends = {}
do
  local function count_ended(p, count)
    if count ~= 0 and call('HINCRBY', p .. 'type', 'ended', count) <= 0 then call('HDEL', p .. 'type', 'ended') end
  end
  -- The ids of an entry, and the instant.
  function ends.read(entry)
    local at, _, from = numbers_of('>dI2', entry)
    return cmsgpack.unpack(sub(entry, from)), at
  end
  -- Deletes an entry with its ids.
  function ends.drop(p, entry, count)
    call('ZREM', p .. 'ends', entry)
    count_ended(p, -count)
  end
  -- Returns the number of its ids.
  function ends.spread_one(p, entry)
    local ids, at = ends.read(entry)
    local text, adds = format('%.17g', at), {}
    for index, id in ipairs(ids) do adds[2 * index - 1], adds[2 * index] = text, id end
    ends.drop(p, entry, #ids)
    -- If the batch has expired, an id may have ended again since.
    call('ZADD', p .. 'done:${state.completed}', 'NX', unpack(adds))
    return #ids
  end
  -- Spreads the entries between two instants, in this order or backwards, until so many jobs are listed. Returns
  -- whether no entry is left there, and whether one was spread.
  function ends.spread(p, from, to, most, backwards)
    local any = false
    while most > 0 do
      local entry
      if backwards then entry = call('ZREVRANGEBYSCORE', p .. 'ends', to, from, 'LIMIT', 0, 1)[1]
      else entry = call('ZRANGEBYSCORE', p .. 'ends', from, to, 'LIMIT', 0, 1)[1] end
      if not entry then return true, any end
      any, most = true, most - ends.spread_one(p, entry)
    end
    return false, any
  end
  -- The job changes: spreads the entry that lists it, if it still is in one.
  function ends.leave(j)
    local p, at = j.t.p, format('%.17g', j.value)
    j.batched = false
    for _, entry in ipairs(call('ZRANGEBYSCORE', p .. 'ends', at, at)) do
      for _, id in ipairs((ends.read(entry))) do
        if id == j.id then
          ends.spread_one(p, entry)
          return
        end
      end
    end
  end
  -- Deletes some entries of completed jobs whose records Redis has expired.
  function ends.drop_expired(p)
    if not expires then return end
    local set, before = p .. 'done:${state.completed}', '(' .. now - 1000
    local over = call('ZRANGEBYSCORE', set, '-inf', before, 'LIMIT', 0, 100)
    if #over > 0 then call('ZREM', set, unpack(over)) end
    for _, entry in ipairs(call('ZRANGEBYSCORE', p .. 'ends', '-inf', before, 'LIMIT', 0, 4)) do
      ends.drop(p, entry, #ends.read(entry))
    end
  end
  -- The number of jobs in entries that have not expired.
  function ends.count(p)
    local sum = tonumber(call('HGET', p .. 'type', 'ended') or 0)
    if sum == 0 then return 0 end
    for _, entry in ipairs(call('ZRANGEBYSCORE', p .. 'ends', '-inf', now)) do
      local _, count = numbers_of('>dI2', entry)
      sum = sum - count
    end
    return sum
  end
end
`
