// Leases jobs, and reads the line of a type: plain jobs in batches, with few commands.

import { stateCodes as state } from '../../../rules/job/codes.ts'
import { eventCodes as event } from '../../codec/codes.ts'
import { flags } from '../../codec/record.ts'
import { places } from '../move/jobs.ts'

/** Jobs of the line that are read at once, at most. */
const readAtOnce = 1_000

/** A turn: what a claim does with one type (claim/turns.ts). */
export const line = `
local grant, write_plain, has_line, grant_line, job_of_line
do
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

  function grant(turn, j)
    j.attempt = j.attempt + 1
    j.worker, j.label, j.started_at, j.until_at = worker, label or nil, now, turn.till
    j.deadline = nil
    set_state(j, ${state.processing})
    place(j, ${places.leases})
    event(j, ${event.processing}, j.failures + 1)
    local answer = encode(j)
    if j.payload == true then answer = answer .. pack(payload_of(j)) end
    if j.blockers then answer = answer .. pack(results_of(j)) end
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

  -- Reads the next jobs of the line: the share of the type, of the slots that are free.
  local function read_line(turn, types)
    write_plain(turn)
    flush()
    local count = math.min(turn.left, turn.room, math.ceil((slots - #granted) / types), ${readAtOnce})
    local members, sets = due_members(turn.t, count)
    local keys = {}
    for index, member in ipairs(members) do keys[index] = turn.t.p .. 'job:' .. sub(member, 7) end
    turn.members, turn.sets, turn.keys, turn.at = members, sets, keys, 1
    turn.found = #members > 0 and call('MGET', unpack(keys)) or {}
    -- All that were due have been read.
    turn.is_dry = #members < count
  end

  -- True if the line has a due job. It is the one at turn.at.
  function has_line(turn, types)
    while true do
      if turn.at > #turn.members then
        if turn.is_dry then return false end
        read_line(turn, types)
        if #turn.members == 0 then return false end
      end
      if turn.found[turn.at] then return true end
      -- Its record is gone.
      call('ZREM', type(turn.sets) == 'string' and turn.sets or turn.sets[turn.at], turn.members[turn.at])
      turn.at = turn.at + 1
    end
  end

  -- Leases the first job of the line, if it is plain.
  function grant_line(turn)
    local at = turn.at
    local set = type(turn.sets) == 'string' and turn.sets or turn.sets[at]
    return grant_plain(turn, set, turn.members[at], turn.keys[at], turn.found[at])
  end
  function job_of_line(turn) return stored(turn.t, sub(turn.members[turn.at], 7)) end
end
`
