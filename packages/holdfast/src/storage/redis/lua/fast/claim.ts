// Fast path of claim: plain jobs of one type that is not paused or watched, has no groups in turn or lost lease, with outcomes of the
// same type or none. Limits of groups change nothing while no group has a turn: a full group has none. The concurrency of a type
// changes nothing if all slots of the claim leave room; what fills the type is noted by the rules. A rate counts every start.

import { aheadMark } from '../../../rules/job/ahead.ts'
import { stateCodes as state } from '../../../rules/job/codes.ts'
import { flags, leasedByClaim } from '../../codec/record.ts'
import { claimOne } from './claim-one.ts'
import { heldLayout } from '../move/held.ts'
import { readHeld } from './held.ts'
import { writeOffer } from './offers.ts'
import { readLine, takeLine } from './line.ts'
import { firstDue } from './next-due-at.ts'
import { readOutcomes, writeOutcomes } from './settle.ts'

export const fastClaim = `
local request, outcomes = cmsgpack.unpack(ARGV[1]), ARGV[2] and cmsgpack.unpack(ARGV[2])
local list = ARGV[3] and cmsgpack.unpack(ARGV[3]) or {}
local wanted = request[4][1]
local limits = wanted and wanted[6]
if #request[4] == 1 and not (limits and limits[2]) and request[3] <= 3500 and #list <= 17500 and (not outcomes or outcomes[1] == wanted[1]) then
  local p, slots = base .. wanted[5] .. ':', request[3]
  if wanted[3] then slots = math.min(slots, wanted[3]) end
  local state = call('HMGET', p .. 'type', 'paused', 'prios', 'watched', 'flow', 'lots', 'idle')
  local idle = state[6]
  local is_plain = not state[1] and not state[2] and not state[4] and not (state[3] and tonumber(state[3]) > now)
  -- Nothing of a type with limits is claimed ahead.
  if limits and is_plain then is_plain = sub(request[1], -${aheadMark.length}) ~= '${aheadMark}' end
  if limits and limits[1] and is_plain then
    local room = limits[1] - slots - call('ZCARD', p .. 'leases')
    for _, left in ipairs(call('HVALS', p .. 'claims:left')) do room = room - left end
    is_plain = room > 0
  end
  local leases, claim_end
  if is_plain and not state[5] and #list <= 5 and slots > 0 then
${claimOne}  end
  -- The rules take lost leases back.
  if leases then is_plain = tonumber(leases[2] or INF) > now and claim_end > now
  elseif is_plain then
    is_plain = #call('ZRANGEBYSCORE', p .. 'leases', '-inf', now, 'LIMIT', 0, 1) == 0
      and #call('ZRANGEBYSCORE', p .. 'claims', '-inf', now, 'LIMIT', 0, 1) == 0
  end
  ${readOutcomes}
  local job_keys, job_ids, granted, written, entries = {}, {}, {}, {}, {}
  local by_claim, is_held, till_text
  ${readLine}
  for index = 1, #job_ids do job_keys[index] = job_key .. job_ids[index] end
  if #job_ids > 0 then
    local worker, label, till = request[1], request[2], now + wanted[2]
    till_text = format('%.17g', till)
    -- One entry lists the leases of the claim (move/claims.ts), unless an earlier claim of this worker has one.
    by_claim = #job_ids >= fewest and call('HEXISTS', p .. 'claims:left', worker) == 0
    -- The records of jobs that all come from lots need not be written (move/held.ts).
    is_held = by_claim and #members == 0
    if is_held then
${readHeld}    else
      local lease = bytes_of('>I2I2', #worker + 1, label and #label + 1 or 0) .. (label or '') .. bytes_of('>I6d', now, till) .. worker
      local leases_of, size = {}, 0
      local last = by_claim and ${leasedByClaim} or ${state.processing}
      for index, record in ipairs(call('MGET', unpack(job_keys))) do
        local flags, high, middle, low = 255, 0, 0, 0
        if record then flags, high, middle, low = byte(record, 1, 4) end
        if flags > ${flags.later} or high + middle + low > 0 then
          is_plain = false
          break
        end
        -- The record of a waiting job ends in attempt and state.
        local attempts = sub(record, -5, -2)
        local added = leases_of[attempts]
        if not added then
          added = lease .. bytes_of('>I4I2B', numbers_of('>I4', attempts) + 1, #worker + 1, last)
          leases_of[attempts] = added
        end
        record = record .. added
        granted[index + 1] = record
        written[size + 1], written[size + 2] = job_keys[index], record
        if not by_claim then entries[size + 1], entries[size + 2] = till_text, job_ids[index] end
        size = size + 2
      end
    end
  end
  if is_plain then
    ${writeOutcomes}
    if #job_ids > 0 then
      ${takeLine}
      if is_held then
        call('HSET', p .. 'claims:held', request[1], pack(orders))
        call('SETNX', base .. ':layout', ${heldLayout})
      else
        call('MSET', unpack(written))
      end
      if by_claim then
        call('ZADD', p .. 'claims', till_text, request[1])
        call('HSET', p .. 'claims:left', request[1], #job_ids)
        call('HSET', p .. 'claims:ids', request[1], pack(job_ids))
      else
        call('ZADD', p .. 'leases', unpack(entries))
      end
    end
    -- A claim that finds less than it has slots for is followed by nextDueAt: the answer has it already.
    local due
    local found, before = #job_ids, -INF
    if found < slots then
      ${firstDue}
      before = at
      if call('EXISTS', p .. 'paused') == 0 then due = at ~= INF and math.max(at, now) end
    end
    ${writeOffer}
    granted[1] = pack({ now, verdicts, {}, {}, job_ids, is_held or false, due })
    return granted
  end
end
`
