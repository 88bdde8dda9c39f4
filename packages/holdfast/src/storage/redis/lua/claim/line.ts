// The jobs of a type without a group, its line: plain jobs are read and leased in batches, with few commands.

import { outcomeCodes as outcome, reasonCodes as reason, stateCodes as state } from '../../../rules/job/codes.ts'
import { eventCodes as event } from '../../codec/codes.ts'
import { flags } from '../../codec/record.ts'
import { places } from '../move/jobs.ts'

/** Jobs of the line that are read at once, at most. */
const readAtOnce = 1_000

/** The first byte of a list of MessagePack without items, and the place of the weight in the body (lua/move/record.ts). */
const [emptyList, weightField] = [0x90, 11]

/** A block: Lua allows 200 locals at once. */
export const line = `
local grant, write_plain, ends_here, has_line, try_line, lease_line
do
  -- What a rate asks of a job that weighs 1 and has no group.
  local plain_job = {}
  -- True if the record is plain and never failed: it can be leased without being read, and has an attempt left.
  local function is_plain(record)
    local flags, high, middle, low = byte(record, 1, 4)
    return flags <= ${flags.later} and high + middle + low == 0
  end
  -- True if the weight of a plain record is 1: its body, a list, ends before the weight.
  local function weighs_one(record) return byte(record, byte(record, 1) == 0 and 11 or 19) < ${emptyList + weightField} end

  -- Leases a plain job in a few steps.
  local function grant_plain(turn, set, member, key, record)
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
  end

  function grant(turn, j)
    j.attempt = j.attempt + 1
    j.worker, j.label, j.started_at, j.until_at = worker, label or nil, now, turn.till
    j.deadline = nil
    set_state(j, ${state.processing})
    place(j, ${places.leases})
    event(j, ${event.processing}, j.failures + 1)
    local answer = encode(j)
    if j.payload == true then answer = answer .. pack(payload_of(j)) end
    if j.blockers then
      local results = {}
      for index, blocker in ipairs(j.blockers) do
        local chain = find_ref(blocker)
        results[index] = { blocker[1], blocker[2], chain and tail_of(chain).result or false }
      end
      answer = answer .. pack(results)
    end
    local count = #granted + 1
    granted[count], ids[count], kinds[count] = answer, j.id, turn.index
  end

  function write_plain(turn)
    if turn.size == 0 then return end
    for set, members in pairs(turn.rems) do call_many('ZREM', set, members) end
    call_many('MSET', nil, turn.records)
    call_many('ZADD', turn.t.p .. 'leases', turn.leases)
    turn.rems, turn.records, turn.leases, turn.size = {}, {}, {}, 0
  end

  -- The members of due jobs, in the order of their claim, and the sorted set of each: one for all, or a list.
  local function due_members(t, count)
    lots.spread(t.p, '-inf', now, count)
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

  -- Reads the next jobs: the share of this type, of the slots that are free. types: the number of types that may have more jobs.
  local function read_line(turn, types)
    write_plain(turn)
    flush()
    local count = math.min(turn.left, turn.room or INF, math.ceil((slots - #granted) / types), ${readAtOnce})
    local members, sets = due_members(turn.t, count)
    local keys = {}
    for index, member in ipairs(members) do keys[index] = turn.t.p .. 'job:' .. sub(member, 7) end
    turn.members, turn.sets, turn.keys, turn.at = members, sets, keys, 1
    turn.set = type(sets) == 'string' and sets or nil
    turn.found = #members > 0 and call('MGET', unpack(keys)) or {}
    -- All that were due have been read.
    turn.is_dry = #members < count
  end

  -- True if the line has a due job: the one at turn.at.
  function has_line(turn, types)
    while true do
      if turn.at > #turn.members then
        if turn.is_dry then return false end
        read_line(turn, types)
        if #turn.members == 0 then return false end
      end
      if turn.found[turn.at] then return true end
      -- Its record is gone.
      call('ZREM', turn.set or turn.sets[turn.at], turn.members[turn.at])
      turn.at = turn.at + 1
    end
  end

  -- True if the job ends here instead of being run: it takes nothing of a limit, and no turn.
  function ends_here(turn, j)
    if is_overdue(j) then
      end_overdue(j, ended)
    elseif j.failures < (j.max or turn.max or INF) then
      return false
    else
      finish(j, ${state.failed}, { reason = ${reason.stalled} }, { ended = ended, unblocked = {} })
      ended[#ended + 1] = ended_of(j)
    end
    -- The end may have unblocked a job of the line.
    turn.is_dry = false
    return true
  end

  -- As in rules/job/ahead.ts.
  local function needs_slot(j)
    if j.deadline then return true end
    for _, ended in ipairs(j.attempts or {}) do
      if ended[6] == ${outcome.stalled} and is_ahead(ended[2]) then return true end
    end
    return false
  end

  -- Leases the first job of the line. turn.admits: whether a rate allows it, which needs the weight of a job. turn.reads_all: the
  -- job was read, so it is written as it was read. Returns whether it was leased, and its weight.
  function try_line(turn)
    local at, weight, record = turn.at, 1, turn.found[turn.at]
    if is_plain(record) and not turn.reads_all and (not turn.admits or weighs_one(record)) then
      if turn.admits and not turn.admits(turn, plain_job) then return false end
      grant_plain(turn, turn.set or turn.sets[at], turn.members[at], turn.keys[at], record)
    else
      local j = stored(turn.t, sub(turn.members[at], 7))
      if ends_here(turn, j) then
        turn.at = at + 1
        return false
      end
      if ahead and needs_slot(j) then
        turn.is_blocked = true
        return false
      end
      if turn.admits and not turn.admits(turn, j) then return false end
      grant(turn, j)
      weight = j.weight or 1
    end
    turn.at = at + 1
    return true, weight
  end

  -- Leases the next job of a type that only has a line, and no limits. turn.is_blocked: its first job needs a free slot, and what
  -- is behind it waits with it.
  function lease_line(turn, types)
    while not turn.is_blocked and has_line(turn, types) do
      if try_line(turn) then return true end
    end
    return false
  end
end
`
