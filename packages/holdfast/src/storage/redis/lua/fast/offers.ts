// The offers of idle workers (rules/job/handed.ts), in the field `idle` of the type: a packed list of
//
//   name of the worker, worker of the claim, label or false, slots left, until when it is taken
//
// It stands in the hash that claims and adds read anyway. Offers that are over are dropped with the next write.

import { stateCodes as state } from '../../../rules/job/codes.ts'
import { aheadMark } from '../../../rules/job/ahead.ts'
import { handedLeaseMs, offerMs } from '../../../rules/job/handed.ts'

/** Offers of one type at once, at most. */
const mostOffers = 16

/** Bytes of a record, at most: every worker of the type is sent the hint. */
const mostBytes = 1_024

/**
 * At the end of a claim that has found `found` jobs. `idle`: the field as it was read. `before`: the next instant at which a job may be
 * claimed, as far as it is known: that job comes first. `limits` are those of the claim: an add does not know them.
 */
export const writeOffer = `
      local offer = request[5]
      if offer or idle then
        local offers, is_changed = {}, false
        for _, each in ipairs(idle and cmsgpack.unpack(idle) or {}) do
          if each[5] <= now or offer and each[1] == offer[1] then is_changed = true else offers[#offers + 1] = each end
        end
        if offer and not limits and offer[2] > found and #offers < ${mostOffers} then
          local worker = request[1]
          if sub(worker, -${aheadMark.length}) == '${aheadMark}' then worker = sub(worker, 1, -${aheadMark.length + 1}) end
          offers[#offers + 1] = { offer[1], worker, request[2], offer[2] - found, math.min(now + ${offerMs}, before) }
          is_changed = true
        end
        if #offers > 0 and is_changed then call('HSET', p .. 'type', 'idle', pack(offers))
        elseif is_changed and idle then call('HDEL', p .. 'type', 'idle') end
      end
`

/**
 * Inside fastAdd: leases the one job of the call to a worker that has offered a slot, unless a claim would find another one first.
 * Only a job that is due at once: without a time, or with a delay of 0 ms, which is packed as -1.
 * `state`: fields of the type. Answers, or leaves everything to the add.
 */
export const handOver = `
    if count == 1 and (not list[2] or list[2] == -1) and state[2] and not state[3] and not state[4] and not state[5] and not state[6] and #list[3] <= ${mostBytes} then
      local offers, taken = {}, nil
      for _, each in ipairs(cmsgpack.unpack(state[2])) do
        if each[5] > now then
          offers[#offers + 1] = each
          taken = taken or each
        end
      end
      local first = taken and call('ZRANGE', p .. 'ready:0', 0, 0, 'WITHSCORES')[2]
      if taken and not (first and tonumber(first) <= now) then
        local id, number, label, till = list[1], call('INCR', base .. ':n'), taken[3], now + ${handedLeaseMs}
        local worker = taken[2] .. '/' .. format('%.0f', number) .. '${aheadMark}'
        local record = bytes_of('>BI3I6', 0, 0, now) .. list[3] .. bytes_of('>I6I4B', number, 0, ${state.queued})
          .. bytes_of('>I2I2', #worker + 1, label and #label + 1 or 0) .. (label or '') .. bytes_of('>I6d', now, till) .. worker
          .. bytes_of('>I4I2B', 1, #worker + 1, ${state.processing})
        if call('SETNX', p .. 'job:' .. id, record) == 1 then
          call('ZADD', p .. 'leases', format('%.17g', till), id)
          taken[4] = taken[4] - 1
          if taken[4] == 0 then table.remove(offers, 1) end
          if #offers > 0 then call('HSET', p .. 'type', 'idle', pack(offers)) else call('HDEL', p .. 'type', 'idle') end
          call('SADD', base .. ':types', names[1])
          call('PUBLISH', p .. 'wake', pack({ id, record }))
          return pack({ now })
        end
        is_plain = false
      end
    end
`
