// Reads: records as they are at one instant, counts, and when something is due. They write nothing.

export const getVerb = `
local refs, asked = unpack(cmsgpack.unpack(ARGV[1]))

local function attempts_of(j)
  local list = { unpack(j.attempts or {}) }
  if j.by_holder then list[#list + 1] = completion(j) end
  while #list > 10 do table.remove(list, 1) end
  return list
end

local function record_of(j, with_tail)
  local chain = chain_of(j)
  local tail = tail_of(chain)
  local running = j.state == PROCESSING
  local state = j.state
  if state == SCHEDULED and j.run_at <= now then state = QUEUED end
  local blockers = {}
  for index, blocker in ipairs(j.blockers or {}) do blockers[index] = { blocker[1], blocker[2] } end
  return {
    j.t.name, j.id, j.token, state, j.reason or false, j.attempt, j.failures, j.snoozes, j.max or false, j.priority,
    j.group_key or false, chain.mark and chain.mark[1] or false, j.keep, j.trace or false, j.created_at, j.run_at,
    j.started_at or false, j.finished_at or false, is_terminal(tail.state) and expiry(chain) or false, j.label or false,
    running and j.worker or false, running and j.until_at or false, running and j.cancelling or false, j.cancel_reason or false,
    ref_of(chain), j.index, j.root or j.chain or ref_of(j), j.origin or false, j.open,
    asked.payload and payload_of(j) or false, asked.result and j.result or false, asked.error and j.error or false,
    asked.attempts and attempts_of(j) or false, asked.blockers and blockers or false,
    with_tail and not j.chain and record_of(tail, false) or false,
  }
end

-- Who holds a key now, if its record is there.
local function holder_of(t, key)
  local mark = mark_of(t, key)
  local j = mark and is_in_force(t, mark) and job_of_mark(t, mark)
  return j and not is_gone(j) and j or nil
end

local answers = {}
for index, ref in ipairs(refs) do
  local j
  if ref[3] then j = holder_of(type_of(ref[1]), ref[2]) else j = find_ref(ref) end
  answers[index] = j and record_of(j, asked.tail) or false
end
return pack({ now, answers })
`

export const countVerb = `
local names = cmsgpack.unpack(ARGV[1]) or call('SMEMBERS', base .. ':types')
local answers = {}

local function oldest(set)
  local first = call('ZRANGE', set, 0, 0, 'WITHSCORES')
  return first[2] and tonumber(first[2]) or INF
end

for index, name in ipairs(names) do
  local t = type_of(name)
  local p = t.p
  local sets = { p .. 'aside' }
  for _, priority in ipairs(priorities(t)) do sets[#sets + 1] = p .. 'line:' .. priority end
  local waiting, due, first = 0, 0, INF
  for _, set in ipairs(sets) do
    waiting = waiting + call('ZCARD', set)
    due = due + call('ZCOUNT', set, '-inf', now)
    first = math.min(first, oldest(set))
  end
  local failing = call('ZCARD', p .. 'failing')
  local queued = due - call('ZCOUNT', p .. 'failing', '-inf', now)
  local ends = {}
  for state = COMPLETED, CANCELLED do ends[#ends + 1] = call('ZCOUNT', p .. 'done:' .. state, '(' .. now, '+inf') end
  local groups_paused = {}
  local found = call('HGETALL', p .. 'paused')
  for at = 1, #found, 2 do groups_paused[#groups_paused + 1] = { found[at], decode(found[at + 1]) } end
  answers[index] = {
    name,
    { waiting - failing - queued, call('ZCARD', p .. 'blocked'), queued, call('ZCARD', p .. 'leases'), failing, unpack(ends) },
    due + call('ZCOUNT', p .. 'leases', '-inf', now), waiting - due, first <= now and first or false, t.paused or false, groups_paused,
  }
end
return pack({ now, answers })
`

/** Behind the short way (fast.ts), which has read the arguments. */
export const nextDueVerb = `
local at = INF
for index = 1, #wanted, 2 do
  local t = type_of(wanted[index])
  if not t.paused then
    for _, priority in ipairs(priorities(t)) do
      local first = call('ZRANGE', t.p .. 'line:' .. priority, 0, 0, 'WITHSCORES')
      if first[2] then at = math.min(at, tonumber(first[2])) end
    end
    local has_paused = call('EXISTS', t.p .. 'paused') == 1
    local leases = call('ZRANGE', t.p .. 'leases', 0, has_paused and -1 or 0, 'WITHSCORES')
    -- Of those that could be claimed then: not in a paused group.
    for index = 1, #leases, 2 do
      local j = has_paused and stored(t, leases[index])
      if not (j and j.group_key and group_of(t, j.group_key).paused) then
        at = math.min(at, tonumber(leases[index + 1]))
        break
      end
    end
  end
end
return pack({ now, at ~= INF and math.max(at, now) })
`

/** Ids of one of the sets of a type, a page at a time: for list. */
export const scanVerb = `
local name, set, cursor = unpack(cmsgpack.unpack(ARGV[1]))
if not name then return pack({ now, '0', call('SMEMBERS', base .. ':types') }) end
local t = type_of(name)
if set == 'prios' then return pack({ now, '0', priorities(t) }) end
local page = call('ZSCAN', t.p .. set, cursor, 'COUNT', 500)
local ids = {}
for index = 1, #page[2], 2 do ids[#ids + 1] = page[2][index] end
return pack({ now, page[1], ids })
`
