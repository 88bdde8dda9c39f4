// As moves/claim.ts and recover.ts: settle what came along, take back lost leases, then give out due jobs, the types in turns.
// The answer is a head, and behind it for each job: its type's place, its id, its record as it is now, its payload if that is
// kept apart, and the results of its blockers if it has some.

export const recover = `
-- Ends the attempt of a job in processing as stalled. max: for jobs without their own.
local function take_back(j, ended, max)
  local attempt, worker, label = j.attempt, j.worker, j.label
  j.failures = j.failures + 1
  event(j, E.stalled, j.failures)
  abort(j)
  local after = { ended = ended, unblocked = {} }
  if j.cancelling then
    end_attempt(j, OUTCOMES.stalled, CANCELLED)
    finish(j, CANCELLED, {}, after)
    ended[#ended + 1] = ended_of(j)
  elseif j.failures >= (j.max or max or INF) then
    end_attempt(j, OUTCOMES.stalled, FAILED)
    finish(j, FAILED, { reason = 'stalled' }, after)
    ended[#ended + 1] = ended_of(j)
  else
    end_attempt(j, OUTCOMES.stalled, QUEUED)
    leave_processing(j)
    go_behind(j, now)
    wait(j)
  end
  return { j.t.name, j.id, worker, attempt, label or false, j.state }
end
`

export const recoverVerb = `
local names, limit, older = unpack(cmsgpack.unpack(ARGV[1]))
local recovered = {}
for _, name in ipairs(names) do
  local t = type_of(name)
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

export const claimVerb = `
local worker, label, slots, wanted = unpack(cmsgpack.unpack(ARGV[1]))
local settled = ARGV[2] and settle_all(cmsgpack.unpack(ARGV[2])) or {}
local recovered, ended, given = {}, {}, {}

-- Lost leases taken back in one call, at most, per type.
local function take_back_lost(t, max)
  for _, id in ipairs(call('ZRANGEBYSCORE', t.p .. 'leases', '-inf', now, 'LIMIT', 0, 1000)) do
    local j = stored(t, id)
    if j then recovered[#recovered + 1] = take_back(j, ended, max) else call('ZREM', t.p .. 'leases', id) end
  end
end

-- Those who stand in line and are due, in their order.
local function in_line(t, count)
  local found = {}
  for _, priority in ipairs(priorities(t)) do
    local set = t.p .. 'line:' .. priority
    for _, member in ipairs(call('ZRANGEBYSCORE', set, '-inf', now, 'LIMIT', 0, count - #found)) do
      found[#found + 1] = { set, member, sub(member, 7) }
    end
    if #found >= count then break end
  end
  return found
end

local function results_of(j)
  local list = {}
  for index, blocker in ipairs(j.blockers) do
    local chain = find_ref(blocker)
    list[index] = { blocker[1], blocker[2], chain and tail_of(chain).result or false }
  end
  return list
end

local rems, leases, records = {}, {}, {}

-- A job that is alone is given out without a table for it. False: another kind, or it may have no attempt left.
local function give_plain(turn, seat, record)
  local from, h = unpack_one(record)
  if h[15] or h[3] > 0 then return false end
  local t, key = turn.t, turn.t.p .. 'job:' .. seat[3]
  h[1], h[2], h[7], h[8], h[9], h[10], h[11] = PROCESSING, h[2] + 1, LEASES, worker, label, now, turn.till
  h[12], h[13], h[14], h[15] = nil, nil, nil, nil
  record = pack(h) .. sub(record, from + 1)
  records[#records + 1] = key
  records[#records + 1] = record
  put(rems, seat[1], seat[2])
  put(leases, t.p .. 'leases', turn.till, seat[3])
  if t.watched then event({ t = t, id = seat[3], label = label }, E.processing, 1) end
  given[#given + 1] = pack(turn.index) .. pack(seat[3]) .. record
  return true
end

local function give(turn, j)
  j.attempt = j.attempt + 1
  j.worker, j.label, j.started_at, j.until_at = worker, label or nil, now, turn.till
  set_state(j, PROCESSING)
  place(j, LEASES)
  if j.group_key then
    local g = group_of(j.t, j.group_key)
    g.placed, g.running, g.dirty = nil, j.id, true
  end
  event(j, E.processing, j.failures + 1)
  local answer = pack(turn.index) .. pack(j.id) .. encode_head(j) .. j.body
  if j.payload == true then answer = answer .. pack(payload_of(j)) end
  if j.blockers then answer = answer .. pack(results_of(j)) end
  given[#given + 1] = answer
end

local function write_plain()
  if #records == 0 then return end
  for set, members in pairs(rems) do call_many('ZREM', set, members) end
  call_many('MSET', nil, records)
  for set, members in pairs(leases) do call_many('ZADD', set, members) end
  rems, leases, records = {}, {}, {}
end

local turns = {}
for index, each in ipairs(wanted) do
  local t = type_of(each[1])
  if not t.paused then
    take_back_lost(t, each[4] or nil)
    turns[#turns + 1] = { t = t, index = index, till = now + each[2], left = math.min(each[3] or INF, slots), max = each[4] or nil }
  end
end
flush()

-- In rounds: those without an attempt left end here, and others take their places.
local again = true
while again and #given < slots do
  again = false
  local order = {}
  for _, turn in ipairs(turns) do turn.found = turn.left > 0 and in_line(turn.t, math.min(turn.left, slots - #given)) or {} end
  for position = 1, slots - #given do
    local any = false
    for _, turn in ipairs(turns) do
      local seat = turn.found[position]
      if seat and #order < slots - #given then
        order[#order + 1] = { turn, seat }
        any = true
      end
    end
    if not any then break end
  end
  local keys = {}
  for index, each in ipairs(order) do keys[index] = each[1].t.p .. 'job:' .. each[2][3] end
  for index, each in ipairs(order) do
    if index % 1000 == 1 then each.batch = call('MGET', unpack(keys, index, math.min(index + 999, #keys))) end
    local batch = order[index - (index - 1) % 1000].batch
    local record = batch[(index - 1) % 1000 + 1]
    local turn, seat = each[1], each[2]
    if not record then
      call('ZREM', seat[1], seat[2])
      again = true
    elseif give_plain(turn, seat, record) then
      turn.left = turn.left - 1
    else
      local j = stored(turn.t, seat[3])
      if j.failures < (j.max or turn.max or INF) then
        give(turn, j)
        turn.left = turn.left - 1
      else
        finish(j, FAILED, { reason = 'stalled' }, { ended = ended, unblocked = {} })
        ended[#ended + 1] = ended_of(j)
        again = true
      end
    end
  end
  write_plain()
  flush()
end

-- What is over goes from the lists of ends, a little with each claim.
for _, turn in ipairs(turns) do
  local over = call('ZRANGEBYSCORE', turn.t.p .. 'done:5', '-inf', '(' .. now - 1000, 'LIMIT', 0, 100)
  if #over > 0 and expires then call_many('ZREM', turn.t.p .. 'done:5', over) end
end
send()
return pack({ now, settled, recovered, ended, #given }) .. table.concat(given)
`
