// The shortest path of claim: one outcome or none, and one due job or none, of a type whose jobs all wait in `ready:0`. It is what a
// request and its response, and a worker with one slot, cause; and it reads what it needs by as few commands as it can. Stands inside
// fastClaim, after its checks of the type, and leaves it `leases` and `claim_end`.

import { stateCodes as state } from '../../../rules/job/codes.ts'
import { completedByHolder, flags, leasedByClaim } from '../../codec/record.ts'
import { leaveClaim } from '../move/claims.ts'
import { keptForever } from '../move/jobs.ts'
import { writeOffer } from './offers.ts'
import { publishedResultBytes } from './settle.ts'

export const claimOne = `
    leases = call('ZRANGE', p .. 'leases', 0, 1, 'WITHSCORES')
    claim_end = tonumber(call('ZRANGE', p .. 'claims', 0, 0, 'WITHSCORES')[2] or INF)
    local line = call('ZRANGE', p .. 'ready:0', 0, 1, 'WITHSCORES')
    -- The rules take lost leases back, and two due jobs are more than one.
    local is_one = tonumber(leases[2] or INF) > now and claim_end > now
      and not (slots > 1 and line[4] and tonumber(line[4]) <= now)
    local id, next_score = nil, line[2]
    if is_one and next_score and tonumber(next_score) <= now then id, next_score = sub(line[1], 7), line[4] end
    local ended, fence, old, record = list[1], nil, nil, nil
    if ended then
      fence = list[2] .. bytes_of('>I4I2', list[3], #list[2] + 1)
      if is_one and id then
        local found = call('MGET', p .. 'job:' .. ended, p .. 'job:' .. id)
        old, record = found[1], found[2]
      elseif is_one then old = call('GET', p .. 'job:' .. ended) end
      -- Only a record with the lease in force ends in the fence and one of these bytes.
      local last = old and sub(old, -#fence - 1, -2) == fence and byte(old, 1) <= ${flags.later} and byte(old, -1)
      if last ~= ${state.processing} and last ~= ${leasedByClaim} then is_one = false end
    elseif is_one and id then record = call('GET', p .. 'job:' .. id) end
    if is_one and id then
      local flags, high, middle, low = 255, 0, 0, 0
      if record then flags, high, middle, low = byte(record, 1, 4) end
      if flags > ${flags.later} or high + middle + low > 0 then is_one = false end
    end
    if is_one then
      local verdicts, other_end = {}, leases[2]
      if ended then
        local from, keep, result = byte(old, 1) == ${flags.later} and 18 or 10, list[4], list[5]
        if not keep then
          local _, body = unpack_one(old, from)
          keep = body[4]
          if type(keep) == 'table' then keep = keep[1] elseif keep < 0 then keep = -2 - keep end
        end
        local at = now + keep
        local done = old .. bytes_of('>I6d', now, at) .. (result and '\\1' .. result or '\\0') .. char(${completedByHolder})
        if at <= now and expires then call('UNLINK', p .. 'job:' .. ended)
        elseif expires and at <= 8e15 then call('SET', p .. 'job:' .. ended, done, 'PXAT', format('%.0f', math.ceil(at)))
        else call('SET', p .. 'job:' .. ended, done) end
        if byte(old, -1) == ${leasedByClaim} then
          local worker, count = list[2], 1
${leaveClaim}          claim_end = tonumber(call('ZRANGE', p .. 'claims', 0, 0, 'WITHSCORES')[2] or INF)
        else
          call('ZREM', p .. 'leases', ended)
          if leases[1] == ended then other_end = leases[4] end
        end
        -- A record that is kept for 0 ms is counted nowhere.
        if at > now or not expires then
          call('ZADD', p .. 'done:${state.completed}', format('%.17g', at == INF and ${keptForever} + now or at), ended)
        end
        local entry = ended
        if not result or #result <= ${publishedResultBytes} then
          -- The token is the first element of the body, which has fewer than 16.
          local _, token = unpack_one(old, from + 1)
          entry = { ended, token, result }
        end
        call('PUBLISH', p .. 'done', pack({ entry }))
        verdicts[1] = at == INF or at
      end
      local granted, till = { '' }, INF
      if id then
        local worker, label = request[1], request[2]
        till = now + wanted[2]
        record = record .. bytes_of('>I2I2', #worker + 1, label and #label + 1 or 0) .. (label or '') .. bytes_of('>I6d', now, till) .. worker
          .. bytes_of('>I4I2B', numbers_of('>I4', sub(record, -5, -2)) + 1, #worker + 1, ${state.processing})
        call('ZREM', p .. 'ready:0', line[1])
        call('SET', p .. 'job:' .. id, record)
        call('ZADD', p .. 'leases', format('%.17g', till), id)
        granted[2] = record
      end
      -- The next due instant, for a claim with slots left. A lost lease of a paused group cannot be claimed again.
      local due
      local at, other = math.min(till, claim_end, tonumber(next_score or INF)), tonumber(other_end or INF)
      local found, before = id and 1 or 0, math.min(at, other)
      if found < slots and (other >= at or call('EXISTS', p .. 'paused') == 0) then
        due = before ~= INF and math.max(before, now)
      end
      ${writeOffer}
      granted[1] = pack({ now, verdicts, {}, {}, id and { id } or {}, false, due })
      return granted
    end
`
