// Fast path of settle, also for the outcomes that a claim brings: completions of plain jobs of one type that no listener
// watches, and that is not full.

import { stateCodes as state } from '../../../rules/job/codes.ts'
import { completedByHolder, completedInBatch, flags, leasedByClaim, queuedInLot } from '../../codec/record.ts'
import { leaveClaim } from '../move/claims.ts'
import { mostInBatch } from '../move/ends.ts'
import { heldLease, holdsOrder } from '../move/held.ts'
import { keptForever } from '../move/jobs.ts'

/**
 * Outcomes that complete jobs: type, its form in keys, and a flat list of id, worker, attempt, keepMs and result, no job twice.
 * Leaves `records` with what is to be written, or is_plain false.
 */
export const readOutcomes = `
  local count, keys = #list / 5, {}
  local job_key = p .. 'job:'
  for index = 1, count do keys[index] = job_key .. list[5 * index - 4] end
  local records = is_plain and count > 0 and call('MGET', unpack(keys)) or {}
  -- Key and new record of each that is kept, in turn.
  local kept, size = {}, 0
  local ids, ends, tills, verdicts = {}, {}, {}, {}
  local worker
  -- Those with a lease of their own, and the numbers of the others by their claims (move/claims.ts). Ends that are listed together
  -- (move/ends.ts), by their instants.
  local leased, claims, batches, batch, batched = {}, {}, count >= fewest and {}
  -- Jobs of the current worker that are listed with their claim.
  local listed = 0
  local function count_listed()
    if listed > 0 then claims[worker] = (claims[worker] or 0) + listed end
    listed = 0
  end
  local attempt, fence, held, lease, first_held, end_held, keep, at, at_bytes, till
  -- What stands between the record and its result, or behind a record without one: the same for jobs of one claim and retention.
  local missing, before_result, no_result
  -- The bytes of priority, attempts and retention of the last job, and its retention.
  local same, same_keep
  local find = string.find
  ${holdsOrder}  local finished, completed = bytes_of('>I6', now), char(batches and ${completedInBatch} or ${completedByHolder})
  for index = 1, is_plain and count or 0 do
    local from, record = 5 * index, records[index]
    if list[from - 3] then
      count_listed()
      worker, attempt = list[from - 3], list[from - 2]
      fence, held, lease = worker .. bytes_of('>I4I2', attempt, #worker + 1), nil, ''
    end
    local flags, last, lacks = 255, record and byte(record, -1), ''
    if last == ${queuedInLot} then
      -- The claim may hold the job.
      if held == nil then
        held = call('HGET', p .. 'claims:held', worker)
        held = held and attempt == 1 and cmsgpack.unpack(held)
        if held then first_held, end_held, lease = held[4], held[4] + held[5], ${heldLease} end
      end
      local order = held and numbers_of('>I6', record, #record - 10)
      -- Nearly all are of the first run: without a call.
      if held and (order >= first_held and order < end_held or holds_order(held, order)) then flags, last, lacks = byte(record), ${leasedByClaim}, lease end
    -- Only a record with the lease in force ends in the fence and one of these bytes. To search there makes no string.
    elseif record and find(record, fence, #record - #fence, true) == #record - #fence then
      flags = byte(record)
    end
    if flags <= ${flags.later} and last == ${leasedByClaim} then listed = listed + 1
    elseif flags <= ${flags.later} and last == ${state.processing} then leased[#leased + 1] = list[from - 4]
    else
      is_plain = false
      break
    end
    local own = list[from - 1]
    if not own then
      -- Behind the first element of the body, the token. To unpack all of the body would make a string of the payload.
      local offset = flags == ${flags.later} and 19 or 11
      local head = byte(record, offset + 1)
      if head < 0xc0 then offset = offset + 1 + head - 0xa0
      elseif head == 0xd9 then offset = offset + 2 + byte(record, offset + 2)
      else offset = unpack_one(record, offset) end
      if not same or find(record, same, offset + 1, true) ~= offset + 1 then
        local behind, _, _, found = cmsgpack.unpack_limit(record, 3, offset)
        if type(found) == 'table' then found = found[1] elseif found < 0 then found = -2 - found end
        same, same_keep = sub(record, offset + 1, behind), found
      end
      own = same_keep
    end
    if own ~= keep then
      keep, at = own, now + own
      local at_text = format('%.17g', at == INF and ${keptForever} + now or at)
      -- True: the record is deleted at once.
      till = at > now and expires and at <= 8e15 and format('%.0f', math.ceil(at)) or at <= now and expires
      at_bytes, before_result = bytes_of('>d', at), nil
      if batches then
        batch = batches[at_text] or {}
        batches[at_text], batched = batch, #batch
      else batch = at_text end
    end
    if lacks ~= missing or not before_result then
      missing = lacks
      before_result = missing .. finished .. at_bytes .. '\\1'
      no_result = missing .. finished .. at_bytes .. '\\0' .. completed
    end
    local id, result = list[from - 4], list[from]
    record = result and record .. before_result .. result .. completed or record .. no_result
    ids[index], tills[index], verdicts[index], records[index] = id, till, at == INF or at, record
    -- A record that is kept for 0 ms is counted nowhere.
    if till ~= true then
      kept[size + 1], kept[size + 2] = keys[index], record
      if batches then
        batched = batched + 1
        batch[batched] = id
      else ends[size + 1], ends[size + 2] = batch, id end
      size = size + 2
    end
  end
  count_listed()
`

/** In bytes: every listener is sent every result up to this size. */
export const publishedResultBytes = 4_096

/** A till of true: the record is deleted at once. */
export const writeOutcomes = `
  -- Of several, one MSET, then the instants: that takes two thirds of the time of a SET with an instant each.
  if size == 2 and count == 1 and tills[1] then
    call('SET', kept[1], kept[2], 'PXAT', tills[1])
  elseif size > 0 then
    call('MSET', unpack(kept))
  end
  for index = 1, count do
    if tills[index] == true then call('UNLINK', keys[index])
    elseif tills[index] and count > 1 then call('PEXPIREAT', keys[index], tills[index]) end
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
      for index = 1, count do
        local id = ids[index]
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
