// Records as tables: read, changed and written as a whole. codec/record.ts describes the layout.

import { stateCodes as state } from '../../../rules/job/codes.ts'
import { completedByHolder, completedInBatch, flags, leasedByClaim, queuedInLot } from '../../codec/record.ts'
import { places } from './jobs.ts'

export const record = `
local function decode_body(j, b)
  j.token, j.priority, j.max, j.keep, j.payload = b[1], b[2], b[3] or nil, b[4], b[5]
  j.trace, j.group_key, j.waits, j.timeout, j.search = b[6] or nil, b[7] or nil, b[8] or false, b[9] or nil, b[10] or nil
  -- kind: false of an unordered group.
  j.weight, j.kind = b[11] or nil, b[12] or false
end
local function encode_body(j)
  local b = { j.token, j.priority, j.max or false, j.keep, j.payload, j.trace or false, j.group_key or false, j.waits }
  local is_longest = j.weight or j.kind
  if is_longest or j.timeout or j.search then b[9], b[10] = j.timeout or false, j.search or false end
  if is_longest then b[11], b[12] = j.weight or false, j.kind end
  j.body = pack(b)
end

local function decode_record(j, record)
  local flags, at
  flags, j.failures, j.created_at, at = numbers_of('>BI3I6', record, 1)
  j.run_at = j.created_at
  if flags % 2 == ${flags.later} then j.run_at, at = numbers_of('>d', record, at) end
  local to, b = unpack_one(record, at - 1)
  j.body = sub(record, at, to)
  decode_body(j, b)
  local m = {}
  if flags % 4 >= ${flags.extras} then to, m = unpack_one(record, to) end
  local inner
  j.order, j.attempt, inner, at = numbers_of('>I6I4B', record, to + 1)
  local state = byte(record, -1)
  -- In an entry of several (ends.ts).
  j.batched = state == ${completedInBatch}
  j.by_holder = j.batched or state == ${completedByHolder}
  j.in_lot = state == ${queuedInLot}
  if j.in_lot then state = ${state.queued} end
  local by_claim = state == ${leasedByClaim}
  if by_claim then state = ${state.processing} end
  if at <= #record and (inner == ${state.processing} or state == ${state.processing} or j.by_holder) then
    local worker, label
    worker, label, at = numbers_of('>I2I2', record, at)
    if label > 0 then j.label = sub(record, at, at + label - 2) end
    at = at + math.max(label - 1, 0)
    j.started_at, j.until_at, at = numbers_of('>I6d', record, at)
    j.worker = sub(record, at, at + worker - 2)
    -- The claim whose entry lists it (claims.ts).
    if by_claim then j.claim = j.worker end
    j.attempt, at = numbers_of('>I4', record, at + worker - 1)
    at = at + 3
  end
  j.state = j.by_holder and ${state.completed} or state
  if j.state == ${state.processing} then j.place = ${places.leases}
  elseif is_waiting(j.state) then j.place = flags >= ${flags.aside} and ${places.aside} or ${places.ready}
  else j.place = ${places.nowhere} end
  if is_terminal(j.state) then
    local expires_at, has_result
    j.finished_at, expires_at, has_result, at = numbers_of('>I6dB', record, at)
    if expires_at >= 0 then j.expires_at = expires_at end
    if has_result == 1 then j.result = sub(record, at, -2) end
  end
  j.accepted, j.reason, j.snoozes, j.cancelling, j.cancel_reason = m.a or j.order, m.r, m.s or 0, m.cn, m.cr
  j.error, j.attempts, j.origin, j.root, j.chain, j.index = m.e, m.at, m.o, m.ro, m.c, m.i or 0
  j.blockers, j.open, j.jobs, j.mark, j.deps = m.b, m.ob or 0, m.j, m.m, m.d or 0
  j.deadline, j.report = m.dl, m.rp
end

-- Appended to the record of a waiting job, it makes it one in processing.
local function lease_bytes(worker, label, started_at, until_at, attempt)
  return bytes_of('>I2I2', #worker + 1, label and #label + 1 or 0) .. (label or '') .. bytes_of('>I6d', started_at, until_at)
    .. worker .. bytes_of('>I4I2B', attempt, #worker + 1, ${state.processing})
end

local function encode(j)
  local m = {
    a = j.accepted ~= j.order and j.accepted or nil, r = j.reason, s = j.snoozes > 0 and j.snoozes or nil,
    cn = j.cancelling or nil, cr = j.cancel_reason, e = j.error, at = j.attempts, o = j.origin, ro = j.root, c = j.chain,
    i = j.index > 0 and j.index or nil, b = j.blockers, ob = j.open > 0 and j.open or nil, j = j.jobs, m = j.mark,
    d = j.deps > 0 and j.deps or nil, g = (j.group_key or j.payload == true or j.search) and true or nil,
    dl = j.deadline, rp = j.report,
  }
  local extras, later = next(m) ~= nil, j.run_at ~= j.created_at
  local flags = (later and ${flags.later} or 0) + (extras and ${flags.extras} or 0) + (j.place == ${places.aside} and ${flags.aside} or 0)
  local parts = {
    bytes_of('>BI3I6', flags, j.failures, j.created_at), later and bytes_of('>d', j.run_at) or '',
    j.body, extras and pack(m) or '', bytes_of('>I6I4B', j.order, j.attempt, j.worker and ${state.processing} or j.state),
  }
  if j.worker then parts[#parts + 1] = lease_bytes(j.worker, j.label, j.started_at, j.until_at, j.attempt) end
  if is_terminal(j.state) then
    parts[#parts + 1] = bytes_of('>I6dB', j.finished_at, j.expires_at or -1, j.result and 1 or 0) .. (j.result or '')
    parts[#parts + 1] = char(j.by_holder and j.state == ${state.completed} and ${completedByHolder} or j.state)
  end
  return table.concat(parts)
end
`
