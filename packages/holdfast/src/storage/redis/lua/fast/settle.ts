// Fast path of settle, also for the outcomes that a claim brings: completions of plain jobs of one type that no listener
// watches, and that is not full.

import { stateCodes as state } from '../../../rules/job/codes.ts'
import { completedByHolder, completedInBatch, flags, leasedByClaim, queuedInLot } from '../../codec/record.ts'
import { leaveClaim } from '../move/claims.ts'
import { mostInBatch } from '../move/ends.ts'
import { heldLease, holdsOrder } from '../move/held.ts'
import { keptForever } from '../move/jobs.ts'

/**
 * Outcomes that complete jobs: type, its form in keys, and a flat list of id, worker, attempt, keepMs and result.
 * Leaves `records` with what is to be written, or is_plain false.
 */
export const readOutcomes = `
  local count, seen, keys = #list / 5, {}, {}
  for index = 1, count do
    local id = list[5 * index - 4]
    keys[index] = p .. 'job:' .. id
    -- A job that is named twice is ended by its first mention.
    if seen[id] then is_plain = false end
    seen[id] = true
  end
  local records = is_plain and count > 0 and call('MGET', unpack(keys)) or {}
  local ids, ends, tills, verdicts, size = {}, {}, {}, {}, 0
  -- Those with a lease of their own, and the numbers of the others by their claims (move/claims.ts). Ends that are listed together
  -- (move/ends.ts), by their instants.
  local leased, claims, batches, batch = {}, {}, count >= fewest and {}
  local worker, attempt, fence, held, lease, keep, at, at_text, at_bytes, till
  local find = string.find
  ${holdsOrder}  -- Where the body goes on behind its first element, the token: to unpack all of it would make a string of the payload.
  local function after_token(record, at)
    local head, size = byte(record, at + 1, at + 2)
    if head < 0xc0 then return at + 1 + head - 0xa0 end
    if head == 0xd9 then return at + 2 + size end
    return (unpack_one(record, at))
  end
  local finished, completed = bytes_of('>I6', now), char(batches and ${completedInBatch} or ${completedByHolder})
  for index = 1, is_plain and count or 0 do
    local from, record = 5 * index, records[index]
    if list[from - 3] then
      worker, attempt = list[from - 3], list[from - 2]
      fence, held, lease = worker .. bytes_of('>I4I2', attempt, #worker + 1), nil, ''
    end
    local flags, last, missing = 255, record and byte(record, -1), ''
    if last == ${queuedInLot} then
      -- The claim may hold the job.
      if held == nil then
        held = call('HGET', p .. 'claims:held', worker)
        held = held and attempt == 1 and cmsgpack.unpack(held)
        if held then lease = ${heldLease} end
      end
      if held and holds_order(held, (numbers_of('>I6', record, #record - 10))) then flags, last, missing = byte(record, 1), ${leasedByClaim}, lease end
    -- Only a record with the lease in force ends in the fence and one of these bytes. To search there makes no string.
    elseif record and find(record, fence, #record - #fence, true) == #record - #fence then
      flags = byte(record, 1)
    end
    if flags <= ${flags.later} and last == ${leasedByClaim} then claims[worker] = (claims[worker] or 0) + 1
    elseif flags <= ${flags.later} and last == ${state.processing} then leased[#leased + 1] = list[from - 4]
    else
      is_plain = false
      break
    end
    local own = list[from - 1]
    if not own then
      local _
      _, _, _, own = cmsgpack.unpack_limit(record, 3, after_token(record, flags == ${flags.later} and 19 or 11))
      if type(own) == 'table' then own = own[1] elseif own < 0 then own = -2 - own end
    end
    if own ~= keep then
      keep, at = own, now + own
      at_text = format('%.17g', at == INF and ${keptForever} + now or at)
      till = expires and at <= 8e15 and format('%.0f', math.ceil(at)) or false
      at_bytes = bytes_of('>d', at)
      if batches then
        batch = batches[at_text] or {}
        batches[at_text] = batch
      end
    end
    local result = list[from]
    if result then records[index] = record .. missing .. finished .. at_bytes .. '\\1' .. result .. completed
    else records[index] = record .. missing .. finished .. at_bytes .. '\\0' .. completed end
    ids[index], tills[index], verdicts[index] = list[from - 4], at > now and till or at <= now and expires, at == INF or at
    -- A record that is kept for 0 ms is counted nowhere.
    if tills[index] == true then
      -- It is deleted.
    elseif batches then
      batch[#batch + 1] = ids[index]
    else
      ends[size + 1], ends[size + 2] = at_text, ids[index]
      size = size + 2
    end
  end
`

/** In bytes: every listener is sent every result up to this size. */
export const publishedResultBytes = 4_096

/** A till of true: the record is deleted at once. */
export const writeOutcomes = `
  -- Of several, one MSET, then the instants: that takes two thirds of the time of a SET with an instant each.
  local kept, size = {}, 0
  for index = 1, count do
    if tills[index] == true then call('UNLINK', keys[index])
    else
      kept[size + 1], kept[size + 2] = keys[index], records[index]
      size = size + 2
    end
  end
  if size == 2 and count == 1 and tills[1] then
    call('SET', kept[1], kept[2], 'PXAT', tills[1])
  elseif size > 0 then
    call('MSET', unpack(kept))
    for index = 1, count do
      if tills[index] and tills[index] ~= true then call('PEXPIREAT', keys[index], tills[index]) end
    end
  end
  if count > 0 then
    if #leased > 0 then call('ZREM', p .. 'leases', unpack(leased)) end
    for worker, count in pairs(claims) do
${leaveClaim}    end
    if #ends > 0 then call('ZADD', p .. 'done:${state.completed}', unpack(ends)) end
    for at, batch in pairs(batches or {}) do
      for first = 1, #batch, ${mostInBatch} do
        local some = #batch <= ${mostInBatch} and batch or { unpack(batch, first, math.min(first + ${mostInBatch - 1}, #batch)) }
        call('ZADD', p .. 'ends', at, bytes_of('>dI2', tonumber(at), #some) .. pack(some))
      end
      if #batch > 0 then call('HINCRBY', p .. 'type', 'ended', #batch) end
    end
    local entries, listeners = ids, redis.pcall('PUBSUB', 'NUMSUB', p .. 'done')
    -- Listeners are sent tokens and results with the ids, so that none of them reads the record.
    if (listeners[2] or 0) > 0 then
      entries = {}
      for index, id in ipairs(ids) do
        local record, result = records[index], list[5 * index]
        -- The token is the first element of the body, which has fewer than 16.
        local _, token = unpack_one(record, byte(record, 1) == ${flags.later} and 19 or 11)
        entries[index] = (not result or #result <= ${publishedResultBytes}) and { id, token, result } or id
      end
    end
    call('PUBLISH', p .. 'done', pack(entries))
  end
`

export const fastSettle = `
local outcomes, list = cmsgpack.unpack(ARGV[1]), ARGV[2] and cmsgpack.unpack(ARGV[2])
if list and #list <= 17500 then
  local p = base .. outcomes[2] .. ':'
  local state = call('HMGET', p .. 'type', 'watched', 'flow')
  local is_plain = not state[1] or tonumber(state[1]) <= now
  -- A job that leaves a full type sends a hint.
  if state[2] and cmsgpack.unpack(state[2]).f then is_plain = false end
  ${readOutcomes}
  if is_plain then
    ${writeOutcomes}
    return pack({ now, verdicts })
  end
end
`
