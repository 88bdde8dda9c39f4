// What the rules stand on: types, jobs as tables that are read once and written by flush(), and the hints.
// The rules in the files beside this one are those of storage/rules, in the server's language.
// Longer than others: how a record is read, changed and written is one thing, and a script has no modules.
//
// A record is bytes to which a claim and a completion only add, for to put a string together costs Lua by its length:
//
//   flags (1), failures (3), createdAt (6), runAt (8, a double; only if it is not createdAt)
//   body, as the client packed it at the add; more, a map of what few jobs have, if the flag says so (MessagePack both)
//   order (6), attempt (4), state (1)
//     with a lease: lengths of worker and label plus one (2, 2), label, startedAt (6), leaseUntil (8, a double),
//       worker, attempt (4), length of worker plus one (2), state (1)
//     at its end: finishedAt (6), expiresAt (8, a double; -1: none), 0, or 1 and the result; state (1)
//
// The last byte is its state; 8 is completed by its holder. What stands before: of a record that only grew, what it was then;
// otherwise 3 if a lease follows. A job without `more` is alone: no chain, group, key, blockers, nobody who waits for it, and
// its payload is in its body. Nearly all are.

export const store = `
local find = string.find
local NOWHERE, LINE, ASIDE, LEASES = 0, 1, 2, 3
local E = { queued = 0, scheduled = 1, processing = 2, failing = 3, completed = 4, failed = 5, cancelled = 6, stalled = 7, requeued = 8 }

local function is_terminal(state) return state >= COMPLETED end
local function is_waiting(state) return state == QUEUED or state == SCHEDULED or state == FAILING end
local function decode(bytes) return bytes and cmsgpack.unpack(bytes) end

-- An instant as Redis takes it; nil if nothing should expire then: never, or so late that it takes no such number.
local function time_text(at)
  if not expires or not at or at > 8e15 then return nil end
  return format('%.0f', math.ceil(at))
end

-- Lua takes no more than some thousand arguments at once.
local function call_many(first, key, list)
  for from = 1, #list, 4000 do
    if key then call(first, key, unpack(list, from, math.min(from + 3999, #list)))
    else call(first, unpack(list, from, math.min(from + 3999, #list))) end
  end
end

-- ── types ──

-- A type cannot end where an id begins: ':' is escaped. The empty name is '%'.
local function encode_type(name)
  if name == '' then return '%' end
  if not find(name, '[:%%]') then return name end
  return (string.gsub(name, '[:%%]', function(char) return format('%%%02x', string.byte(char)) end))
end

local types = {}
local function type_of(name)
  local t = types[name]
  if t then return t end
  local p = base .. encode_type(name) .. ':'
  local found = call('HMGET', p .. 'type', 'paused', 'prios', 'watched')
  t = { name = name, p = p, paused = decode(found[1]) or nil, prios = decode(found[2]) or {}, watched = found[3] and tonumber(found[3]) > now }
  types[name] = t
  return t
end

-- Once a type has a job, the reads that name no type can find it, and claims its priority.
local function know(t, priority)
  if not t.known then
    t.known = true
    call('SADD', base .. ':types', t.name)
  end
  if priority == 0 then return end
  for _, each in ipairs(t.prios) do if each == priority then return end end
  t.prios[#t.prios + 1] = priority
  table.sort(t.prios, function(a, b) return a > b end)
  call('HSET', t.p .. 'type', 'prios', pack(t.prios))
end

-- Highest first; 0 is always there.
local function priorities(t)
  if #t.prios == 0 then return { 0 } end
  local list, zero = {}, false
  for _, each in ipairs(t.prios) do
    if each < 0 and not zero then
      list[#list + 1] = 0
      zero = true
    end
    list[#list + 1] = each
  end
  if not zero then list[#list + 1] = 0 end
  return list
end

-- ── hints ──

local wakes, dones, aborts, events = {}, {}, {}, {}
local function note(list, t, item)
  local items = list[t]
  if items then items[#items + 1] = item else list[t] = { item } end
end
local function wake(t) wakes[t] = true end
local function done(j) note(dones, j.t, j.id) end
local function abort(j) note(aborts, j.t, j.id) end
local function event(j, code, attempt)
  if j.t.watched then note(events, j.t, { code, j.id, attempt, j.label or false }) end
end
local function send()
  for t in pairs(wakes) do call('PUBLISH', t.p .. 'wake', '') end
  for t, ids in pairs(dones) do call('PUBLISH', t.p .. 'done', pack(ids)) end
  for t, ids in pairs(aborts) do call('PUBLISH', t.p .. 'abort', pack(ids)) end
  for t, list in pairs(events) do call('PUBLISH', t.p .. 'events', pack({ now, list })) end
end

-- ── jobs ──

local jobs, dirty, kept = {}, {}, {}

local function take_number() return call('INCR', base .. ':n') end
-- Before the id in its line, so that those of one instant stand by their order.
local function line_member(order, id) return bytes_of('>I6', order) .. id end
local function ref_of(j) return { j.t.name, j.id } end

-- When the record of a chain goes, as far as that is certain.
local function expiry(chain)
  if not chain.expires_at or chain.expires_at == INF or chain.deps > 0 then return nil end
  return chain.expires_at
end

local chain_of

local function seats(j)
  local p, set, member, score = j.t.p
  if j.place == LINE then set, member, score = p .. 'line:' .. j.priority, line_member(j.order, j.id), j.run_at
  elseif j.place == ASIDE then set, member, score = p .. 'aside', j.id, j.run_at
  elseif j.place == LEASES then set, member, score = p .. 'leases', j.id, j.until_at end
  local group, value
  if j.state == BLOCKED then group, value = p .. 'blocked', j.accepted
  elseif j.state == FAILING then group, value = p .. 'failing', j.run_at
  elseif is_terminal(j.state) then
    local chain = chain_of(j)
    group, value = p .. 'done:' .. j.state, chain and expiry(chain) or '+inf'
  end
  return set, member, score, group, value
end

local function decode_body(j, b)
  j.token, j.priority, j.max, j.keep, j.payload = b[1], b[2], b[3] or nil, b[4], b[5]
  j.trace, j.group_key, j.waits = b[6] or nil, b[7] or nil, b[8] or false
end

local function job_of(t, id, key, record)
  local j = { t = t, id = id, key = key }
  local flags, at
  flags, j.failures, j.created_at, at = numbers_of('>BI3I6', record, 1)
  j.run_at = j.created_at
  if flags % 2 == LATER_FLAG then j.run_at, at = numbers_of('>d', record, at) end
  local to, b = unpack_one(record, at - 1)
  j.body = sub(record, at, to)
  decode_body(j, b)
  local m = {}
  if flags % 4 >= MORE_FLAG then to, m = unpack_one(record, to) end
  local inner
  j.order, j.attempt, inner, at = numbers_of('>I6I4B', record, to + 1)
  local state = byte(record, -1)
  if at <= #record and (inner == PROCESSING or state == PROCESSING or state == BY_HOLDER) then
    local worker, label
    worker, label, at = numbers_of('>I2I2', record, at)
    if label > 0 then j.label = sub(record, at, at + label - 2) end
    at = at + math.max(label - 1, 0)
    j.started_at, j.until_at, at = numbers_of('>I6d', record, at)
    j.worker = sub(record, at, at + worker - 2)
    j.attempt, at = numbers_of('>I4', record, at + worker - 1)
    at = at + 3
  end
  j.by_holder = state == BY_HOLDER
  j.state = j.by_holder and COMPLETED or state
  if j.state == PROCESSING then j.place = LEASES
  elseif is_waiting(j.state) then j.place = flags >= ASIDE_FLAG and ASIDE or LINE
  else j.place = NOWHERE end
  if is_terminal(j.state) then
    local expires_at, has_result
    j.finished_at, expires_at, has_result, at = numbers_of('>I6dB', record, at)
    if expires_at >= 0 then j.expires_at = expires_at end
    if has_result == 1 then j.result = sub(record, at, -2) end
  end
  j.accepted, j.reason, j.snoozes, j.cancelling, j.cancel_reason = m.a or j.order, m.r, m.s or 0, m.cn, m.cr
  j.error, j.attempts, j.origin, j.root, j.chain, j.index = m.e, m.at, m.o, m.ro, m.c, m.i or 0
  j.blockers, j.open, j.jobs, j.mark, j.deps = m.b, m.ob or 0, m.j, m.m, m.d or 0
  jobs[key] = j
  j.set, j.member, j.score, j.group_set, j.value = seats(j)
  -- Its chain may have changed in this call before it was read.
  if j.chain then j.value = nil end
  j.expiry_was = expiry(j)
  return j
end

-- What stands under this name, even if its time is over.
local function stored(t, id)
  local key = t.p .. 'job:' .. id
  local j = jobs[key]
  if j ~= nil then return j or nil end
  local record = call('GET', key)
  if record then return job_of(t, id, key, record) end
  jobs[key] = false
  return nil
end
local function stored_ref(ref) return stored(type_of(ref[1]), ref[2]) end

function chain_of(j)
  if not j.chain then return j end
  return stored_ref(j.chain)
end
-- Of a chain's first job.
local function tail_of(chain)
  if not chain.jobs then return chain end
  return stored_ref(chain.jobs[#chain.jobs]) or chain
end

-- The chain has ended, its time is over, and nobody needs it: absent for everyone, swept or not.
local function is_gone(j)
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

local function touch(j)
  if j.dirty then return end
  j.dirty = true
  dirty[#dirty + 1] = j
end
local function set_state(j, state)
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

local function encode_body(j)
  j.body = pack({ j.token, j.priority, j.max or false, j.keep, j.payload, j.trace or false, j.group_key or false, j.waits })
end

-- Added to what waits, it runs.
local function lease_bytes(worker, label, started_at, until_at, attempt)
  return bytes_of('>I2I2', #worker + 1, label and #label + 1 or 0) .. (label or '') .. bytes_of('>I6d', started_at, until_at)
    .. worker .. bytes_of('>I4I2B', attempt, #worker + 1, PROCESSING)
end

local function encode(j)
  local m = {
    a = j.accepted ~= j.order and j.accepted or nil, r = j.reason, s = j.snoozes > 0 and j.snoozes or nil,
    cn = j.cancelling or nil, cr = j.cancel_reason, e = j.error, at = j.attempts, o = j.origin, ro = j.root, c = j.chain,
    i = j.index > 0 and j.index or nil, b = j.blockers, ob = j.open > 0 and j.open or nil, j = j.jobs, m = j.mark,
    d = j.deps > 0 and j.deps or nil, g = (j.group_key or j.payload == true) and true or nil,
  }
  local has_more, later = next(m) ~= nil, j.run_at ~= j.created_at
  local flags = (later and LATER_FLAG or 0) + (has_more and MORE_FLAG or 0) + (j.place == ASIDE and ASIDE_FLAG or 0)
  local parts = {
    bytes_of('>BI3I6', flags, j.failures, j.created_at), later and bytes_of('>d', j.run_at) or '',
    j.body, has_more and pack(m) or '', bytes_of('>I6I4B', j.order, j.attempt, j.worker and PROCESSING or j.state),
  }
  if j.worker then parts[#parts + 1] = lease_bytes(j.worker, j.label, j.started_at, j.until_at, j.attempt) end
  if is_terminal(j.state) then
    parts[#parts + 1] = bytes_of('>I6dB', j.finished_at, j.expires_at or -1, j.result and 1 or 0) .. (j.result or '')
    parts[#parts + 1] = char(j.by_holder and j.state == COMPLETED and BY_HOLDER or j.state)
  end
  return table.concat(parts)
end

local function forget_payload(j)
  if j.payload == true then call('UNLINK', j.t.p .. 'pay:' .. j.id) end
end

-- ── groups ──

local groups = {}
local function group_of(t, key)
  local members = t.p .. 'group:' .. key
  local g = groups[members]
  if g then return g end
  local state = decode(call('GET', t.p .. 'held:' .. key)) or {}
  g = { t = t, key = key, members = members, running = state[1] or nil, placed = state[2] or nil,
    paused = decode(call('HGET', t.p .. 'paused', key)) or nil }
  groups[members] = g
  return g
end
local function head_of(g)
  local first = call('ZRANGE', g.members, 0, 0)[1]
  return first and stored(g.t, first)
end
local function join_group(j) call('ZADD', j.t.p .. 'group:' .. j.group_key, j.accepted, j.id) end

-- ── writing ──

local function put(list, key, first, second)
  local items = list[key]
  if not items then
    items = {}
    list[key] = items
  end
  items[#items + 1] = first
  if second then items[#items + 1] = second end
end

-- The jobs of a chain go with it, and stay with it.
local function spread_expiry()
  for index = 1, #dirty do
    local j = dirty[index]
    if j.jobs and not j.erased and expiry(j) ~= j.expiry_was then
      for _, ref in ipairs(j.jobs) do
        local each = stored_ref(ref)
        if each then touch(each) end
      end
    end
  end
end

-- A key without a window lives as long as the record.
local function keep_mark(j, at)
  local mark = j.mark
  if not mark or mark[4] ~= 1 or mark[6] or mark[2] ~= j.id then return end
  local key = j.t.p .. 'key:' .. mark[1]
  local holder = decode(call('GET', key))
  if not holder or holder[2] ~= mark[2] or holder[3] ~= mark[3] then return end
  if at then call('PEXPIREAT', key, time_text(at)) else call('PERSIST', key) end
end

local function write_record(j, records, moved)
  local chain = chain_of(j)
  local at = chain and expiry(chain)
  if not time_text(at) then at = nil end
  if at and at <= now then
    call('UNLINK', j.key)
    forget_payload(j)
  else
    if at then
      call('SET', j.key, encode(j), 'PXAT', time_text(at))
    else
      records[#records + 1] = j.key
      records[#records + 1] = encode(j)
    end
    if j.payload == true then
      local key = j.t.p .. 'pay:' .. j.id
      if j.large then call('SET', key, j.large) end
      j.large = nil
      if at then call('PEXPIREAT', key, time_text(at)) elseif moved then call('PERSIST', key) end
    end
  end
  if moved then keep_mark(j, at) end
end

local function flush()
  if #dirty == 0 and next(groups) == nil then return end
  spread_expiry()
  local adds, rems, records = {}, {}, {}
  -- One that was erased may have been added again: what is gone goes first.
  for _, j in ipairs(dirty) do
    if j.erased then
      call('UNLINK', j.key)
      forget_payload(j)
    end
  end
  for _, j in ipairs(dirty) do
    local set, member, score, group, value
    if not j.erased then set, member, score, group, value = seats(j) end
    if j.set and (j.set ~= set or j.member ~= member) then put(rems, j.set, j.member) end
    if set and (j.set ~= set or j.member ~= member or j.score ~= score) then put(adds, set, score, member) end
    if j.group_set and j.group_set ~= group then put(rems, j.group_set, j.id) end
    if group and (j.group_set ~= group or j.value ~= value) then put(adds, group, value, j.id) end
    j.set, j.member, j.score, j.group_set, j.value = set, member, score, group, value
    j.dirty = false
    if not j.erased then
      local at = expiry(j)
      write_record(j, records, at ~= j.expiry_was)
      j.expiry_was = at
    end
  end
  dirty = {}
  for set, members in pairs(rems) do call_many('ZREM', set, members) end
  if #records > 0 then call_many('MSET', nil, records) end
  for set, members in pairs(adds) do call_many('ZADD', set, members) end
  for _, g in pairs(groups) do
    if g.dirty then
      g.dirty = false
      local key = g.t.p .. 'held:' .. g.key
      if g.running or g.placed then call('SET', key, pack({ g.running or false, g.placed or false })) else call('DEL', key) end
    end
  end
end
`
