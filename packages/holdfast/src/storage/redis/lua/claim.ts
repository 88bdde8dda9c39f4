// As rules/claim.ts: settle the outcomes at hand, take back lost leases, then lease due jobs, the types in turns.
// The answer is a packed list, then for each job its record as it is now, followed by its payload if that has a key of its
// own, and by the results of its blockers if it has some.

import { reasonCodes as reason, stateCodes as state } from '../../rules/job/codes.ts'
import { eventCodes as event } from '../codec/codes.ts'
import { flags } from '../codec/record.ts'
import { places } from './move/jobs.ts'

/** Lost leases taken back by one call, at most, per type. */
const recoverLimit = 1_000

/** After fastClaim, which has read the arguments. */
export const claim = `
local worker, label, slots, wanted = unpack(request)
local settled = outcomes and settle_all(outcomes, ARGV[3] and list) or {}
local recovered, ended, granted, ids, kinds = {}, {}, {}, {}, {}

local function take_back_lost(t, max)
  for _, id in ipairs(call('ZRANGEBYSCORE', t.p .. 'leases', '-inf', now, 'LIMIT', 0, ${recoverLimit})) do
    local j = stored(t, id)
    if j then recovered[#recovered + 1] = take_back(j, ended, max) else call('ZREM', t.p .. 'leases', id) end
  end
end

-- The members of due jobs, in the order of their claim, and the sorted set of each: one for all, or a list.
local function due_members(t, count)
  if #t.prios == 0 then
    local set = t.p .. 'ready:0'
    return call('ZRANGEBYSCORE', set, '-inf', now, 'LIMIT', 0, count), set
  end
  local found, sets = {}, {}
  for _, priority in ipairs(priorities(t)) do
    local set = t.p .. 'ready:' .. priority
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

-- Leases a plain job in a few steps. False: it is not plain, or it may have no attempt left.
local function grant_plain(turn, set, member, key, record)
  local flags, high, middle, low = byte(record, 1, 4)
  if flags > ${flags.later} or high + middle + low > 0 then return false end
  local id = sub(member, 7)
  record = record .. turn.lease[numbers_of('>I4', record, #record - 4)]
  local size = turn.size
  turn.records[size + 1], turn.records[size + 2] = key, record
  turn.leases[size + 1], turn.leases[size + 2] = turn.till_text, id
  turn.size = size + 2
  put(turn.rems, set, member)
  if turn.t.watched then event({ t = turn.t, id = id, label = label or nil }, ${event.processing}, 1) end
  local count = #granted + 1
  granted[count], ids[count], kinds[count] = record, id, turn.index
  return true
end

local function grant(turn, j)
  j.attempt = j.attempt + 1
  j.worker, j.label, j.started_at, j.until_at = worker, label or nil, now, turn.till
  j.deadline = nil
  set_state(j, ${state.processing})
  place(j, ${places.leases})
  if j.group_key then
    local g = group_of(j.t, j.group_key)
    g.placed, g.running, g.dirty = nil, j.id, true
  end
  event(j, ${event.processing}, j.failures + 1)
  local answer = encode(j)
  if j.payload == true then answer = answer .. pack(payload_of(j)) end
  if j.blockers then answer = answer .. pack(results_of(j)) end
  local count = #granted + 1
  granted[count], ids[count], kinds[count] = answer, j.id, turn.index
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
      rems = {}, records = {}, leases = {}, size = 0, got = 0,
      -- By the number of earlier attempts.
      lease = setmetatable({}, { __index = function(leases, attempts)
        leases[attempts] = lease_bytes(worker, label or nil, now, till, attempts + 1)
        return leases[attempts]
      end }),
    }
    if till ~= INF then turns[#turns].till_text = format('%.17g', till) end
  end
end
flush()

-- In rounds: a job without an attempt left, or past its deadline, ends here, and the next round fills its slot.
local again = true
while again and #granted < slots do
  again = false
  local turn_of, members, sets, keys = {}, {}, {}, {}
  local free = slots - #granted
  local most = 0
  for _, turn in ipairs(turns) do
    turn.found, turn.sets, turn.halted = {}, nil, false
    if turn.left > 0 then turn.found, turn.sets = due_members(turn.t, math.min(turn.left, free)) end
    most = math.max(most, turn.got + #turn.found)
  end
  -- A type whose job ended here has its turn in the next round, before the others have more than it.
  for rank = 1, most do
    for _, turn in ipairs(turns) do
      local position = rank - turn.got
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
    if turn.halted then
      -- The next round finds it again, behind the next member of the group whose head ended.
    elseif not record then
      call('ZREM', sets[at], member)
      again = true
    elseif grant_plain(turn, sets[at], member, keys[at], record) then
      turn.left, turn.got = turn.left - 1, turn.got + 1
    else
      local j = stored(turn.t, sub(member, 7))
      if is_overdue(j) then
        end_overdue(j, ended)
        again, turn.halted = true, j.group_key ~= nil
      elseif j.failures < (j.max or turn.max or INF) then
        grant(turn, j)
        turn.left, turn.got = turn.left - 1, turn.got + 1
      else
        finish(j, ${state.failed}, { reason = ${reason.stalled} }, { ended = ended, unblocked = {} })
        ended[#ended + 1] = ended_of(j)
        again, turn.halted = true, j.group_key ~= nil
      end
    end
  end
  for _, turn in ipairs(turns) do write_plain(turn) end
  flush()
end

-- Each claim that comes here removes some expired ids from the sets of ends. The sweep removes the rest.
for _, turn in ipairs(turns) do
  local set = turn.t.p .. 'done:${state.completed}'
  local over = call('ZRANGEBYSCORE', set, '-inf', '(' .. now - 1000, 'LIMIT', 0, 100)
  if #over > 0 and expires then call_many('ZREM', set, over) end
end
send()
table.insert(granted, 1, pack({ now, settled, recovered, ended, ids, #wanted > 1 and kinds }))
return granted
`
