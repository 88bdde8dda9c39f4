// Leases by claim. The jobs that a claim leases together have the same end of their leases, and most of them end before it. So the fast
// path lists them in one entry, under the worker of the claim, instead of one entry each in `leases`:
//
//   claims        sorted set: workers, by the end of their leases
//   claims:left   hash: by worker, the number of jobs that the entry still lists
//   claims:ids    hash: by worker, the ids of all jobs of the claim, packed
//
// The last byte of a record (codec/record.ts) says whether the job is listed so; or the record says nothing of the lease (held.ts). A job that is changed by the rules leaves the entry,
// and is listed by itself if it keeps its lease. Whatever reads leases in their order spreads the entries first.

import { stateCodes as state } from '../../../rules/job/codes.ts'
import { leasedByClaim, queuedInLot } from '../../codec/record.ts'

/** `count` jobs have left the entry of `worker`. Also for the fast paths. */
export const leaveClaim = `
    if call('HINCRBY', p .. 'claims:left', worker, -count) <= 0 then
      call('HDEL', p .. 'claims:left', worker)
      call('HDEL', p .. 'claims:ids', worker)
      call('HDEL', p .. 'claims:held', worker)
      call('ZREM', p .. 'claims', worker)
    end
`

/** A table of functions: Lua allows 200 locals at once. */
export const claims = `
local claims = {}
do
  -- The jobs that have left their entries in this call, by type and worker: written by flush().
  local left_claims = {}
  function claims.leave(j)
    local left = left_claims[j.t] or {}
    left_claims[j.t] = left
    left[j.claim] = (left[j.claim] or 0) + 1
    j.claim = nil
  end
  function claims.write()
    for t, left in pairs(left_claims) do
      local p = t.p
      for worker, count in pairs(left) do
${leaveClaim}
      end
    end
    left_claims = {}
  end

  -- Lists the jobs of a claim by themselves. Returns their number.
  local function spread_claim(p, worker, till)
    local ids, leases = decode(call('HGET', p .. 'claims:ids', worker)) or {}, {}
    local held = decode(call('HGET', p .. 'claims:held', worker))
    local size, last = #worker + 7, char(${leasedByClaim})
    -- Writes its lease into a record. False if the job has left the entry, or is leased by another claim.
    local function lease_by_itself(key)
      if held then
        local tail = call('GETRANGE', key, -11, -1)
        if byte(tail, -1) ~= ${queuedInLot} or not holds_order(held, (numbers_of('>I6', tail))) then return false end
        call('APPEND', key, lease_bytes(worker, held[1], held[2], held[3], 1))
        return true
      end
      local tail = call('GETRANGE', key, -size, -1)
      if #tail < size or sub(tail, -1) ~= last or sub(tail, 1, #worker) ~= worker
        or numbers_of('>I2', tail, size - 2) ~= #worker + 1 then return false end
      call('SETRANGE', key, call('STRLEN', key) - 1, char(${state.processing}))
      return true
    end
    for _, id in ipairs(ids) do
      local key = p .. 'job:' .. id
      if lease_by_itself(key) then
        leases[#leases + 1], leases[#leases + 2] = till, id
        local j = jobs[key]
        if j then j.claim, j.set, j.member, j.score = nil, p .. 'leases', id, j.until_at end
      end
    end
    call('HDEL', p .. 'claims:left', worker)
    call('HDEL', p .. 'claims:ids', worker)
    call('HDEL', p .. 'claims:held', worker)
    call('ZREM', p .. 'claims', worker)
    call_many('ZADD', p .. 'leases', leases)
    return #leases / 2
  end

  -- Spreads the claims whose leases end between two instants, in this order or backwards, until so many jobs are listed. Returns
  -- whether no entry is left there, and whether one was spread.
  function claims.spread(p, from, to, most, backwards)
    local any = false
    while most > 0 do
      local first
      if backwards then first = call('ZREVRANGEBYSCORE', p .. 'claims', to, from, 'WITHSCORES', 'LIMIT', 0, 1)
      else first = call('ZRANGEBYSCORE', p .. 'claims', from, to, 'WITHSCORES', 'LIMIT', 0, 1) end
      if not first[1] then return true, any end
      any, most = true, most - spread_claim(p, first[1], first[2])
    end
    return false, any
  end

  -- The number of jobs that entries of claims list.
  function claims.count(p)
    local sum = 0
    for _, left in ipairs(call('HVALS', p .. 'claims:left')) do sum = sum + left end
    return sum
  end
  -- The number of jobs in processing.
  function claims.leased(p) return call('ZCARD', p .. 'leases') + claims.count(p) end
  -- The number of jobs whose leases are lost.
  function claims.lost(p)
    local sum = call('ZCOUNT', p .. 'leases', '-inf', now)
    for _, worker in ipairs(call('ZRANGEBYSCORE', p .. 'claims', '-inf', now)) do
      sum = sum + (call('HGET', p .. 'claims:left', worker) or 0)
    end
    return sum
  end
end
`
