// The offers of idle workers (rules/job/handed.ts), in the field `idle` of the type: a packed list of
//
//   name of the worker, worker of the claim, label or false, slots left, until when it is taken
//
// It stands in the hash that claims and adds read anyway. Offers that are over are dropped with the next write.

import { aheadMark } from '../../../rules/job/ahead.ts'
import { offerMs } from '../../../rules/job/handed.ts'

/** Offers of one type at once, at most. */
const mostOffers = 16

/** Bytes of a record, at most: every worker of the type is sent the hint. */
export const mostHandedBytes = 1_024

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
