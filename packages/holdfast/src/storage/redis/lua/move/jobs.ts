// Jobs of one call: each record is read once, changed as a table, and written by flush() (flush.ts).

import { stateCodes as state } from '../../../rules/job/codes.ts'
import { inlinePayloadBytes } from '../../codec/record.ts'

/** Where a job is listed, as in rules/move.ts. Not stored. */
export const places = { nowhere: 0, ready: 1, aside: 2, leases: 3 } as const

/** Records without an expiry are listed by their end, behind all that have one: this is added to the instant. */
export const keptForever = 8e15

export const jobs = `
-- kept: chains that this call has found. They stay until its end, even if they are kept for 0 ms.
local jobs, dirty, kept = {}, {}, {}
local chain_of

local function take_number() return call('INCR', base .. ':n') end
-- The order stands before the id, so that jobs of one instant are sorted by it.
local function ready_member(order, id) return bytes_of('>I6', order) .. id end
local function ref_of(j) return { j.t.name, j.id } end

-- When the record of a chain expires. Nil: not known, or never.
local function expiry(chain)
  if not chain.expires_at or chain.expires_at == INF or chain.deps > 0 then return nil end
  return chain.expires_at
end

-- A job that its chain was continued after expires by itself, or with its chain: whichever comes first.
local function record_expiry(j)
  local chain = chain_of(j)
  local at = chain and expiry(chain)
  local own = j.chain and j.expires_at
  if own and own ~= INF and (not at or own < at) then return own end
  return at
end

-- The sorted sets that list a job: by its place (set, member, score), and by its state (set, score).
local function memberships(j)
  local p, set, member, score = j.t.p
  if j.place == ${places.ready} then set, member, score = p .. 'ready:' .. j.priority, ready_member(j.order, j.id), j.run_at
  elseif j.place == ${places.aside} then set, member, score = p .. 'aside', j.id, j.run_at
  elseif j.place == ${places.leases} then set, member, score = p .. 'leases', j.id, j.until_at end
  local state_set, value
  if j.state == ${state.blocked} then state_set, value = p .. 'blocked', j.accepted
  elseif j.state == ${state.failing} then state_set, value = p .. 'failing', j.run_at
  elseif is_terminal(j.state) then
    state_set, value = p .. 'done:' .. j.state, record_expiry(j) or ${keptForever} + j.finished_at
  end
  return set, member, score, state_set, value
end

-- The job under this name, expired or not.
local function stored(t, id)
  local key = t.p .. 'job:' .. id
  local j = jobs[key]
  if j ~= nil then return j or nil end
  local record = call('GET', key)
  if not record then
    jobs[key] = false
    return nil
  end
  j = { t = t, id = id, key = key }
  decode_record(j, record)
  if j.in_lot then lease_if_held(j) end
  jobs[key] = j
  j.set, j.member, j.score, j.state_set, j.value = memberships(j)
  if j.claim then j.set = nil end
  -- Its chain may have changed in this call before it was read.
  if j.chain then j.value = nil end
  j.expiry_was, j.deadline_was = expiry(j), j.deadline
  return j
end
local function stored_ref(ref) return stored(type_of(ref[1]), ref[2]) end

-- The first job of a job's chain, which holds what belongs to the chain.
function chain_of(j)
  if not j.chain then return j end
  return stored_ref(j.chain)
end
-- The last job of a chain, given its first.
local function tail_of(chain)
  if not chain.jobs then return chain end
  return stored_ref(chain.jobs[#chain.jobs]) or chain
end

-- A job inside a chain whose own retention is over.
local function is_expired_part(j) return j.chain and j.expires_at and j.expires_at <= now end
-- Whether a job, or nil, belongs to this chain, behind its first job. Its id may have another life since.
local function is_part(j, chain) return j and j.chain and j.chain[2] == chain.id and j.chain[1] == chain.t.name end
-- The chain has ended, its retention is over, and no job depends on it. It is absent for every reader, swept or not.
local function is_gone(j)
  if is_expired_part(j) then return true end
  local chain = chain_of(j)
  if not chain then return true end
  if not chain.expires_at or chain.expires_at > now then return false end
  return chain.deps == 0 and not kept[chain]
end
local function find_job(t, id)
  local j = stored(t, id)
  if j and not is_gone(j) then return j end
  return nil
end
local function find_ref(ref) return find_job(type_of(ref[1]), ref[2]) end
-- A job inside another chain that has its name by now is not the chain.
local function find_chain(ref)
  local j = find_ref(ref)
  return j and j.index == 0 and j or nil
end

-- Every change of a job is followed by touch(), or by one of the functions that call it.
local function touch(j)
  if j.dirty then return end
  j.dirty = true
  dirty[#dirty + 1] = j
end
local function is_unstarted(state) return state ~= ${state.processing} and not is_terminal(state) end
local function set_state(j, state)
  -- The number of waiting jobs, once it was asked for (job/refuse.ts).
  local t, before, after = j.t, is_unstarted(j.state), is_unstarted(state)
  if t.waiting and before ~= after then t.waiting = t.waiting + (after and 1 or -1) end
  j.state = state
  touch(j)
end
local function place(j, where)
  j.place = where
  touch(j)
end
local function erase(j)
  j.erased = true
  jobs[j.key] = false
  touch(j)
end

-- A payload of true: it has a key of its own. j.large: it is not written yet.
local function payload_of(j)
  if j.payload ~= true then return j.payload end
  return j.large or call('GET', j.t.p .. 'pay:' .. j.id)
end
local function forget_payload(j)
  if j.payload == true then call('UNLINK', j.t.p .. 'pay:' .. j.id) end
end
-- The caller has touched the job.
local function set_payload(j, payload)
  local large = #payload > ${inlinePayloadBytes}
  forget_payload(j)
  j.payload, j.large = large or payload, large and payload or nil
  encode_body(j)
end

-- What stands in keys of its own, beside the record (job/report.ts).
local function report_keys(j) return j.t.p .. 'report:' .. j.id, j.t.p .. 'log:' .. j.id end
-- Deletes a record.
local function unlink(j)
  call('UNLINK', j.key)
  forget_payload(j)
  if j.report then call('UNLINK', report_keys(j)) end
end
`
