// sweep: Redis expires records and keys by itself. What is left is to end jobs past their deadline, to delete ended jobs beyond
// the counts to keep, and to remove ids and search entries of expired records, types without jobs, and kv entries.

import { stateCodes as state } from '../../rules/job/codes.ts'

/** Ended jobs that a sweep by count looks at beyond its limit, for those that it may not delete. */
const kept = 1_000

/** ARGV: the limit; for each count to keep its type, state and number. */
export const sweep = `
local limit, keeps = unpack(cmsgpack.unpack(ARGV[1]))
local ended, swept, entries, more = {}, 0, 0, false

local function end_late(t)
  local set = t.p .. 'deadlines'
  for _, id in ipairs(call('ZRANGEBYSCORE', set, '-inf', now, 'LIMIT', 0, math.max(0, limit - #ended) + 1)) do
    if #ended >= limit then
      more = true
      break
    end
    local j = stored(t, id)
    if j and is_overdue(j) then end_overdue(j, ended) elseif not j then call('ZREM', set, id) end
  end
  flush()
end

-- Entries of several ended jobs, whose time is over. If Redis has expired all of their records, they are deleted whole; jobs of
-- others are listed by themselves.
local function open_batches(t)
  local left = limit - swept
  while left >= 0 do
    local entry = call('ZRANGEBYSCORE', t.p .. 'ends', '-inf', now, 'LIMIT', 0, 1)[1]
    if not entry then return end
    local ids, keys = ends.read(entry), {}
    for index, id in ipairs(ids) do keys[index] = t.p .. 'job:' .. id end
    left = left - #ids
    if left >= 0 and call('EXISTS', unpack(keys)) == 0 then
      ends.drop(t.p, entry, #ids)
      for _, id in ipairs(ids) do put(dones, t, id) end
      swept = swept + #ids
    else
      ends.spread_one(t.p, entry)
    end
  end
end

local function delete_expired(t, state)
  local set = t.p .. 'done:' .. state
  if state == ${state.completed} then open_batches(t) end
  for _, id in ipairs(call('ZRANGEBYSCORE', set, '-inf', now, 'LIMIT', 0, math.max(0, limit - swept) + 1)) do
    if swept >= limit then
      more = true
      break
    end
    -- Its record, or that of an earlier life of the id, has expired.
    if state == ${state.failed} then end_hold(t, id) end
    local j = stored(t, id)
    local chain = j and chain_of(j)
    if not j then
      call('ZREM', set, id)
      put(dones, t, id)
      swept = swept + 1
    elseif not chain or is_expired_part(j) then
      erase(j)
      swept = swept + 1
    elseif is_gone(j) then
      swept = swept + #jobs_of(chain)
      forget(chain)
    else
      -- Of an earlier life of the id.
      call('ZREM', set, id)
    end
  end
  flush()
end

-- Entries of records that Redis has expired: move/search.ts.
local function delete_search(t)
  local set, rems = t.p .. 'searched', {}
  local over = call('ZRANGEBYSCORE', set, '-inf', now, 'LIMIT', 0, limit + 1)
  for index, member in ipairs(over) do
    if index > limit then
      more = true
      break
    end
    local created_at, size, at = numbers_of('>I6I4', member)
    each_entry(t, sub(member, at + size), created_at, sub(member, at, at + size - 1), function(key, _, entry) put(rems, key, entry) end)
    put(rems, set, member)
  end
  for key, members in pairs(rems) do call_many('ZREM', key, members) end
end

-- The number of a chain's jobs that its end removes from a count; nil if the chain must stay. It is found by its tail.
local function counted_jobs(t, state, j)
  local chain = chain_of(j)
  if not chain or chain.t ~= t or tail_of(chain) ~= j or chain.deps > 0 then return nil end
  local count = 0
  for _, each in ipairs(jobs_of(chain)) do
    if each.t == t and each.state == state then count = count + 1 end
  end
  return count
end

-- Those that expire first go first. Those without an expiry follow, by their end.
local function delete_beyond(t, state, count)
  local set = t.p .. 'done:' .. state
  local excess = call('ZCOUNT', set, '(' .. now, '+inf') - count
  if state == ${state.completed} then excess = excess + ends.count(t.p) end
  if excess <= 0 then return end
  local deleted, left = 0, limit - swept
  if state == ${state.completed} and left > 0 then ends.spread(t.p, '(' .. now, '+inf', math.min(left, excess) + ${kept}) end
  local ids = left > 0 and call('ZRANGEBYSCORE', set, '(' .. now, '+inf', 'LIMIT', 0, math.min(left, excess) + ${kept}) or {}
  for _, id in ipairs(ids) do
    if deleted >= left or excess <= 0 then break end
    local j = stored(t, id)
    local counted = j and not j.erased and counted_jobs(t, state, j)
    if counted then
      local chain = chain_of(j)
      deleted, excess = deleted + #jobs_of(chain), excess - counted
      forget(chain)
    end
  end
  swept = swept + deleted
  flush()
  -- If nothing was deleted, the next call could delete nothing either, unless the limit was used up before.
  if excess > 0 and (deleted > 0 or left <= 0) then more = true end
end

local function forget_unused(t)
  -- A slow-down or rate of the type may be over.
  if t.flow then
    touch_flow(t)
    flush()
  end
  -- A watched type stays, so that a later sweep finds its hash.
  local known = t.paused or t.watched or t.flow or call('EXISTS', t.p .. 'paused', t.p .. 'blocked', t.p .. 'aside', t.p .. 'leases',
    t.p .. 'claims', t.p .. 'ends', t.p .. 'lots', t.p .. 'searched', t.p .. 'done:${state.completed}', t.p .. 'done:${state.failed}', t.p .. 'done:${state.cancelled}') > 0
  for _, priority in ipairs(priorities(t)) do known = known or call('EXISTS', t.p .. 'ready:' .. priority) == 1 end
  if not known then
    call('SREM', base .. ':types', t.name)
    call('DEL', t.p .. 'type')
  end
end

local names = call('SMEMBERS', base .. ':types')
for _, name in ipairs(names) do end_late(type_of(name)) end
for _, name in ipairs(names) do
  for state = ${state.completed}, ${state.cancelled} do delete_expired(type_of(name), state) end
end
for _, keep in ipairs(keeps) do delete_beyond(type_of(keep[1]), keep[2], keep[3]) end
for _, name in ipairs(names) do
  delete_search(type_of(name))
  forget_unused(type_of(name))
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
return pack({ now, swept, ended, entries, more })
`
