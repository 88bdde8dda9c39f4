// As rules/claim.ts and recover.ts: settle what came along, take back lost leases, then give out due jobs, the types in turns.
// The answer is a packed list, then for each job its record as it is now, behind it its payload if that is kept apart, and the
// results of its blockers if it has some.

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

/** Behind the short way (fast.ts), which has read the arguments. */
export const claimVerb = `
local worker, label, slots, wanted = unpack(request)
local settled = outcomes and settle_all(outcomes, ARGV[3] and list) or {}
local recovered, ended, given, ids, kinds = {}, {}, {}, {}, {}

-- Lost leases taken back in one call, at most, per type.
local function take_back_lost(t, max)
  for _, id in ipairs(call('ZRANGEBYSCORE', t.p .. 'leases', '-inf', now, 'LIMIT', 0, 1000)) do
    local j = stored(t, id)
    if j then recovered[#recovered + 1] = take_back(j, ended, max) else call('ZREM', t.p .. 'leases', id) end
  end
end

-- Those who stand in line and are due, in their order: members, and by their place the set of each.
local function in_line(t, count)
  if #t.prios == 0 then
    local set = t.p .. 'line:0'
    return call('ZRANGEBYSCORE', set, '-inf', now, 'LIMIT', 0, count), set
  end
  local found, sets = {}, {}
  for _, priority in ipairs(priorities(t)) do
    local set = t.p .. 'line:' .. priority
    for _, member in ipairs(call('ZRANGEBYSCORE', set, '-inf', now, 'LIMIT', 0, count - #found)) do
      found[#found + 1] = member
      sets[#found] = set
    end
    if #found >= count then break end
  end
  return found, sets
end

local function results_of(j)
  local list = {}
  for index, blocker in ipairs(j.blockers) do
    local chain = find_ref(blocker)
    list[index] = { blocker[1], blocker[2], chain and tail_of(chain).result or false }
  end
  return list
end

-- A job that is alone is given out in a few steps. False: another kind, or it may have no attempt left.
local function give_plain(turn, set, member, key, record)
  local flags, high, middle, low = byte(record, 1, 4)
  if flags > LATER_FLAG or high + middle + low > 0 then return false end
  local id = sub(member, 7)
  record = record .. turn.lease[numbers_of('>I4', record, #record - 4)]
  local size = turn.size
  turn.records[size + 1], turn.records[size + 2] = key, record
  turn.leases[size + 1], turn.leases[size + 2] = turn.till_text, id
  turn.size = size + 2
  put(turn.rems, set, member)
  if turn.t.watched then event({ t = turn.t, id = id, label = label or nil }, E.processing, 1) end
  local count = #given + 1
  given[count], ids[count], kinds[count] = record, id, turn.index
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
  local answer = encode(j)
  if j.payload == true then answer = answer .. pack(payload_of(j)) end
  if j.blockers then answer = answer .. pack(results_of(j)) end
  local count = #given + 1
  given[count], ids[count], kinds[count] = answer, j.id, turn.index
end

local function write_plain(turn)
  if turn.size == 0 then return end
  for set, members in pairs(turn.rems) do call_many('ZREM', set, members) end
  call_many('MSET', nil, turn.records)
  call_many('ZADD', turn.t.p .. 'leases', turn.leases)
  turn.rems, turn.records, turn.leases, turn.size = {}, {}, {}, 0
end

local turns = {}
for index, each in ipairs(wanted) do
  local t = type_of(each[1])
  if not t.paused then
    take_back_lost(t, each[4] or nil)
    local till = now + each[2]
    turns[#turns + 1] = {
      t = t, index = index, till = till, left = math.min(each[3] or INF, slots), max = each[4] or nil, till_text = till,
      rems = {}, records = {}, leases = {}, size = 0,
      -- By the attempts before.
      lease = setmetatable({}, { __index = function(leases, attempts)
        leases[attempts] = lease_bytes(worker, label or nil, now, till, attempts + 1)
        return leases[attempts]
      end }),
    }
    if till ~= INF then turns[#turns].till_text = format('%.17g', till) end
  end
end
flush()

-- In rounds: those without an attempt left end here, and others take their places.
local again = true
while again and #given < slots do
  again = false
  local turn_of, members, sets, keys = {}, {}, {}, {}
  local free = slots - #given
  local most = 0
  for _, turn in ipairs(turns) do
    turn.found, turn.sets = {}, nil
    if turn.left > 0 then turn.found, turn.sets = in_line(turn.t, math.min(turn.left, free)) end
    most = math.max(most, #turn.found)
  end
  for position = 1, most do
    for _, turn in ipairs(turns) do
      local member = turn.found[position]
      if member and #members < free then
        local at = #members + 1
        turn_of[at], members[at] = turn, member
        sets[at] = type(turn.sets) == 'string' and turn.sets or turn.sets[position]
        keys[at] = turn.t.p .. 'job:' .. sub(member, 7)
      end
    end
  end
  local records
  for at, member in ipairs(members) do
    if at % 1000 == 1 then records = call('MGET', unpack(keys, at, math.min(at + 999, #keys))) end
    local turn, record = turn_of[at], records[(at - 1) % 1000 + 1]
    if not record then
      call('ZREM', sets[at], member)
      again = true
    elseif give_plain(turn, sets[at], member, keys[at], record) then
      turn.left = turn.left - 1
    else
      local j = stored(turn.t, sub(member, 7))
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
  for _, turn in ipairs(turns) do write_plain(turn) end
  flush()
end

-- What is over goes from the lists of ends, a little with each claim that comes here; the sweep takes the rest.
for _, turn in ipairs(turns) do
  local over = call('ZRANGEBYSCORE', turn.t.p .. 'done:5', '-inf', '(' .. now - 1000, 'LIMIT', 0, 100)
  if #over > 0 and expires then call_many('ZREM', turn.t.p .. 'done:5', over) end
end
send()
table.insert(given, 1, pack({ now, settled, recovered, ended, ids, #wanted > 1 and kinds }))
return given
`
