// Waiting jobs by lot. Plain jobs of one add that are due at once wait in one entry of `lots`, by the instant, instead of one entry each
// in `ready:0`:
//
//   lots   sorted set: the order of the first job (6 bytes), the number of ids (2), the ids, packed. Orders follow one another
//
// The field `lots` of the type has the number of jobs in all entries. The last byte of a record (codec/record.ts) says that the job was
// listed so. The fast path of claim takes jobs from the first entries. Whatever else reads waiting jobs in their order, or changes one of
// them, has entries spread: all of their ids are listed in `ready:0` from then on.

/** Ids of one entry, at most: as many are listed at once when an entry is spread. */
export const mostInLot = 128

/** Lists the jobs of an `entry` with its `score` by themselves. Leaves their `ids`. Also for the fast path of claim. */
export const spreadLot = `
    local order, _, from = numbers_of('>I6I2', entry)
    local ids, adds = cmsgpack.unpack(sub(entry, from)), {}
    for index, id in ipairs(ids) do
      adds[2 * index - 1], adds[2 * index] = score, bytes_of('>I6', order + index - 1) .. id
    end
    call('ZREM', p .. 'lots', entry)
    if call('HINCRBY', p .. 'type', 'lots', -#ids) <= 0 then call('HDEL', p .. 'type', 'lots') end
    call('ZADD', p .. 'ready:0', unpack(adds))
`

/** A table of functions: Lua allows 200 locals at once. */
export const lots = `
local lots = {}
do
  -- Returns the number of its ids.
  local function spread_one(p, entry, score)
${spreadLot}    return #ids
  end
  -- Spreads the entries between two instants, in this order or backwards, until so many jobs are listed. Returns
  -- whether no entry is left there, and whether one was spread.
  function lots.spread(p, from, to, most, backwards)
    local any = false
    while most > 0 do
      local first
      if backwards then first = call('ZREVRANGEBYSCORE', p .. 'lots', to, from, 'WITHSCORES', 'LIMIT', 0, 1)
      else first = call('ZRANGEBYSCORE', p .. 'lots', from, to, 'WITHSCORES', 'LIMIT', 0, 1) end
      if not first[1] then return true, any end
      any, most = true, most - spread_one(p, first[1], first[2])
    end
    return false, any
  end
  -- The job changes: spreads the entry that lists it, if it still is in one.
  function lots.leave(j)
    local p, at, own = j.t.p, format('%.17g', j.score), numbers_of('>I6', j.member)
    j.in_lot = false
    for _, entry in ipairs(call('ZRANGEBYSCORE', p .. 'lots', at, at)) do
      local order, count = numbers_of('>I6I2', entry)
      if own >= order and own < order + count then
        spread_one(p, entry, at)
        return
      end
    end
  end
  -- The number of jobs in entries: of all, or of those up to an instant.
  function lots.count(p, to)
    local sum = tonumber(call('HGET', p .. 'type', 'lots') or 0)
    if sum == 0 or not to then return sum end
    -- Only after a step back of the clock are some of them not due.
    for _, entry in ipairs(call('ZRANGEBYSCORE', p .. 'lots', '(' .. to, '+inf')) do
      local _, count = numbers_of('>I6I2', entry)
      sum = sum - count
    end
    return sum
  end
  -- The first job of the first entry that is due: its id, runAt and order; or nil.
  function lots.first(p)
    local first = call('ZRANGEBYSCORE', p .. 'lots', '-inf', now, 'WITHSCORES', 'LIMIT', 0, 1)
    if not first[1] then return nil end
    local order, _, from = numbers_of('>I6I2', first[1])
    return cmsgpack.unpack(sub(first[1], from))[1], tonumber(first[2]), order
  end
end
`
