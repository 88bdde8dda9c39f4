// Jobs whose records do not say that they are leased. A claim that takes all of its jobs from entries of `lots` does not write
// their records: they still end in the byte queuedInLot, and their orders tell whether they wait or are leased. Beside the hashes
// of claims.ts there is
//
//   claims:held   hash: by worker, packed: label or false, startedAt, leaseUntil, then the first order and the number of each run of orders
//
// Their attempt is the first one. A job that is changed gets its whole record, as any other.

import { stateCodes as state } from '../../../rules/job/codes.ts'
import { leasedByClaim } from '../../codec/record.ts'
import { places } from './jobs.ts'

/** The layout of the keys since there are such jobs (connection/layout.ts). */
export const heldLayout = 2

/** Whether `order` is among those of `held`, a list as above. Also for the fast path of settle. */
export const holdsOrder = `
local function holds_order(held, order)
  for at = 4, #held, 2 do
    if order >= held[at] and order < held[at] + held[at + 1] then return true end
  end
  return false
end
`

/** What the records lack, after a claim has taken the jobs of `held`. Also for the fast path of settle. */
export const heldLease = `bytes_of('>I2I2', #worker + 1, held[1] and #held[1] + 1 or 0) .. (held[1] or '') .. bytes_of('>I6d', held[2], held[3])
        .. worker .. bytes_of('>I4I2B', 1, #worker + 1, ${leasedByClaim})`

export const held = `
${holdsOrder}
-- After a job was read whose record says that it waits.
local function lease_if_held(j)
  local t = j.t
  if not t.held then
    t.held = {}
    local found = call('HGETALL', t.p .. 'claims:held')
    for at = 1, #found, 2 do t.held[found[at]] = cmsgpack.unpack(found[at + 1]) end
  end
  for worker, held in pairs(t.held) do
    if holds_order(held, j.order) then
      j.in_lot, j.state, j.place = false, ${state.processing}, ${places.leases}
      j.worker, j.claim, j.label, j.attempt = worker, worker, held[1] or nil, 1
      j.started_at, j.until_at = held[2], held[3]
      return
    end
  end
end
`
