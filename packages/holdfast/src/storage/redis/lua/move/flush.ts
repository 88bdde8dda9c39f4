// Writes what the call has changed: records, the sorted sets that list them, groups, and flows of types.

import { modeCodes } from '../../codec/codes.ts'

export const flush = `
-- The jobs of a chain expire with it.
local function spread_expiry()
  for index = 1, #dirty do
    local j = dirty[index]
    if j.jobs and not j.erased and expiry(j) ~= j.expiry_was then
      for _, ref in ipairs(j.jobs) do
        local each = stored_ref(ref)
        if each == j or is_part(each, j) then touch(each) end
      end
    end
  end
end

-- A key without a window lives as long as the record.
local function keep_mark(j, at)
  local mark = j.mark
  if not mark or mark[4] ~= ${modeCodes.throttle} or mark[6] or mark[2] ~= j.id then return end
  local key = j.t.p .. 'key:' .. mark[1]
  local holder = decode(call('GET', key))
  if not holder or holder[2] ~= mark[2] or holder[3] ~= mark[3] then return end
  if at then call('PEXPIREAT', key, time_text(at)) else call('PERSIST', key) end
end

-- moved: the expiry of the chain has changed. The jobs behind its first one do not know that.
local function expire_with_record(j, key, at, moved)
  if at then call('PEXPIREAT', key, time_text(at)) elseif moved or j.chain then call('PERSIST', key) end
end

-- True if the record was deleted, because it has expired already.
local function write_record(j, records, moved)
  local at = record_expiry(j)
  if not time_text(at) then at = nil end
  local is_over = at ~= nil and at <= now
  if is_over then
    unlink(j)
  else
    if at then
      call('SET', j.key, encode(j), 'PXAT', time_text(at))
    else
      records[#records + 1] = j.key
      records[#records + 1] = encode(j)
    end
    if j.payload == true then
      local key = j.t.p .. 'pay:' .. j.id
      if j.large then call('SET', key, j.large) end
      j.large = nil
      expire_with_record(j, key, at, moved)
    end
    if j.report then
      for _, key in ipairs({ report_keys(j) }) do expire_with_record(j, key, at, moved) end
    end
  end
  if moved then keep_mark(j, at) end
  return is_over
end

-- Deadlines stand in a set of their own until the job begins, ends or is deleted.
local function list_deadline(j, adds, rems)
  local deadline = not j.erased and j.deadline or nil
  if deadline == j.deadline_was then return end
  local set = j.t.p .. 'deadlines'
  if deadline then put(adds, set, deadline, j.id) else put(rems, set, j.id) end
  j.deadline_was = deadline
end

local function flush()
  if #dirty == 0 and next(groups) == nil and next(flows) == nil then return end
  spread_expiry()
  local adds, rems, records = {}, {}, {}
  -- Deletions come first: a job that was erased may have been added again.
  for _, j in ipairs(dirty) do
    if j.erased then unlink(j) end
  end
  for _, j in ipairs(dirty) do
    local set, member, score, state_set, value
    if not j.erased then set, member, score, state_set, value = memberships(j) end
    if j.in_lot then lots.leave(j) end
    if j.claim then claims.leave(j) end
    if j.batched then ends.leave(j) end
    if j.set and (j.set ~= set or j.member ~= member) then put(rems, j.set, j.member) end
    if set and (j.set ~= set or j.member ~= member or j.score ~= score) then put(adds, set, score, member) end
    if j.state_set and j.state_set ~= state_set then put(rems, j.state_set, j.id) end
    if state_set and (j.state_set ~= state_set or j.value ~= value) then put(adds, state_set, value, j.id) end
    j.set, j.member, j.score, j.state_set, j.value = set, member, score, state_set, value
    j.dirty = false
    list_deadline(j, adds, rems)
    local is_over = j.erased
    if not is_over then
      local at = expiry(j)
      is_over = write_record(j, records, at ~= j.expiry_was)
      j.expiry_was = at
    end
    if j.search then list_search(j, is_over, adds, rems) end
  end
  dirty = {}
  for set, members in pairs(rems) do call_many('ZREM', set, members) end
  if #records > 0 then call_many('MSET', nil, records) end
  for set, members in pairs(adds) do call_many('ZADD', set, members) end
  claims.write()
  write_groups()
  write_flows()
end
`
