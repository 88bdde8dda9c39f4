// The short ways, in front of the rules: jobs of one type that are alone, which nearly all are (store.ts tells how a record is
// laid out). A script runs from its top, and to define all the rules takes longer than to claim a job: so what needs none of
// them is done and answered before they are defined. Here everything is read and looked at first; unless all of it is plain,
// nothing is written, and the rules decide.

/** What the short ways need, and the rules too. */
export const start = `
local base, call, pack, unpack_one = KEYS[1], redis.call, cmsgpack.pack, cmsgpack.unpack_one
local sub, byte, char, format, INF = string.sub, string.byte, string.char, string.format, math.huge
local bytes_of, numbers_of = struct.pack, struct.unpack
local SCHEDULED, BLOCKED, QUEUED, PROCESSING, FAILING, COMPLETED, FAILED, CANCELLED = 0, 1, 2, 3, 4, 5, 6, 7
local BY_HOLDER = 8
local LATER_FLAG, MORE_FLAG, ASIDE_FLAG = 1, 2, 4
`

/** ARGV: the type and how it is written in keys; for each job its id, when and body. */
export const fastAdd = `
local names, list = cmsgpack.unpack(ARGV[1]), cmsgpack.unpack(ARGV[2])
if type(names[1]) == 'string' and #list > 0 and #list <= 6000 then
  local p = base .. names[2] .. ':'
  local watched = call('HGET', p .. 'type', 'watched')
  local count, seen, is_plain = #list / 3, {}, not watched or tonumber(watched) <= now
  for at = 1, #list, 3 do
    if seen[list[at]] then is_plain = false end
    seen[list[at]] = true
  end
  if is_plain then
    local number = call('INCRBY', base .. ':n', count) - count
    local records, lines, size = {}, {}, 0
    local job_key, now_text = p .. 'job:', format('%.0f', now)
    local head, head_later = bytes_of('>BI3I6', 0, 0, now), bytes_of('>BI3I6', LATER_FLAG, 0, now)
    local queued, scheduled = bytes_of('>I4B', 0, QUEUED), bytes_of('>I4B', 0, SCHEDULED)
    for at = 1, #list, 3 do
      number = number + 1
      local id, when, order, run_at = list[at], list[at + 1], bytes_of('>I6', number), now
      if when then run_at = when < 0 and now - when - 1 or math.max(when, now) end
      records[size + 1] = job_key .. id
      lines[size + 2] = order .. id
      if run_at == now then
        records[size + 2], lines[size + 1] = head .. list[at + 2] .. order .. queued, now_text
      else
        records[size + 2] = head_later .. bytes_of('>d', run_at) .. list[at + 2] .. order .. scheduled
        lines[size + 1] = run_at
      end
      size = size + 2
    end
    if call('MSETNX', unpack(records)) == 1 then
      call('ZADD', p .. 'line:0', unpack(lines))
      call('SADD', base .. ':types', names[1])
      call('PUBLISH', p .. 'wake', '')
      return pack({ now })
    end
  end
end
`

/**
 * Outcomes that complete jobs: type, how it is written in keys, and a flat list of id, worker, attempt, keepMs and result.
 * Leaves `records` with what is to be written, or is_plain false.
 */
const lookAtOutcomes = `
  local count, seen, keys = #list / 5, {}, {}
  for index = 1, count do
    local id = list[5 * index - 4]
    keys[index] = p .. 'job:' .. id
    -- One that is named twice is ended by its first mention.
    if seen[id] then is_plain = false end
    seen[id] = true
  end
  local records = is_plain and count > 0 and call('MGET', unpack(keys)) or {}
  local ids, ends, tills, verdicts, size = {}, {}, {}, {}, 0
  local worker, attempt, fence, keep, at, at_text, at_bytes, till
  local finished, completed = bytes_of('>I6', now), char(BY_HOLDER)
  for index = 1, is_plain and count or 0 do
    local from, record = 5 * index, records[index]
    if list[from - 3] ~= worker or list[from - 2] ~= attempt then
      worker, attempt = list[from - 3], list[from - 2]
      fence = worker .. bytes_of('>I4I2B', attempt, #worker + 1, PROCESSING)
    end
    -- Nothing but the lease in force ends so.
    if not record or sub(record, -#fence) ~= fence then
      is_plain = false
      break
    end
    local flags = byte(record, 1)
    if flags > LATER_FLAG then
      is_plain = false
      break
    end
    local own = list[from - 1]
    if not own then
      local _, body = unpack_one(record, flags == LATER_FLAG and 18 or 10)
      own = body[4]
      if type(own) == 'table' then own = own[1] end
    end
    if own ~= keep then
      keep, at = own, now + own
      at_text = at == INF and '+inf' or format('%.17g', at)
      till = expires and at <= 8e15 and format('%.0f', math.ceil(at)) or false
      at_bytes = bytes_of('>d', at)
    end
    local result = list[from]
    if result then records[index] = record .. finished .. at_bytes .. '\\1' .. result .. completed
    else records[index] = record .. finished .. at_bytes .. '\\0' .. completed end
    ids[index], tills[index], verdicts[index] = list[from - 4], at > now and till or at <= now and expires, at == INF or at
    -- What goes at once is counted nowhere.
    if tills[index] ~= true then
      ends[size + 1], ends[size + 2] = at_text, ids[index]
      size = size + 2
    end
  end
`

/** In bytes: everybody who listens is sent every result. */
const longestTold = 4_096

/** A till of true: it goes at once. */
const writeOutcomes = `
  for index = 1, count do
    local to = tills[index]
    if not to then call('SET', keys[index], records[index])
    elseif to == true then call('UNLINK', keys[index])
    else call('SET', keys[index], records[index], 'PXAT', to) end
  end
  if count > 0 then
    call('ZREM', p .. 'leases', unpack(ids))
    if #ends > 0 then call('ZADD', p .. 'done:5', unpack(ends)) end
    local told, listeners = ids, redis.pcall('PUBSUB', 'NUMSUB', p .. 'done')
    -- Who listens is told tokens and results with the ids: nobody needs to read the record.
    if (listeners[2] or 0) > 0 then
      told = {}
      for index, id in ipairs(ids) do
        local record, result = records[index], list[5 * index]
        local _, body = unpack_one(record, byte(record, 1) == LATER_FLAG and 18 or 10)
        told[index] = (not result or #result <= ${longestTold}) and { id, body[1], result } or id
      end
    end
    call('PUBLISH', p .. 'done', pack(told))
  end
`

export const fastSettle = `
local outcomes, list = cmsgpack.unpack(ARGV[1]), ARGV[2] and cmsgpack.unpack(ARGV[2])
if list and #list <= 17500 then
  local p = base .. outcomes[2] .. ':'
  local watched = call('HGET', p .. 'type', 'watched')
  local is_plain = not watched or tonumber(watched) <= now
  ${lookAtOutcomes}
  if is_plain then
    ${writeOutcomes}
    return pack({ now, verdicts })
  end
end
`

/** When the first of a type could be claimed, in line or by the end of its lease. */
const firstDue = `
    local first, lease = call('ZRANGE', p .. 'line:0', 0, 0, 'WITHSCORES'), call('ZRANGE', p .. 'leases', 0, 0, 'WITHSCORES')
    local at = math.min(first[2] and tonumber(first[2]) or INF, lease[2] and tonumber(lease[2]) or INF)
`

/** A claim of one type, with outcomes of the same one or none. */
export const fastClaim = `
local request, outcomes = cmsgpack.unpack(ARGV[1]), ARGV[2] and cmsgpack.unpack(ARGV[2])
local list = ARGV[3] and cmsgpack.unpack(ARGV[3]) or {}
local wanted = request[4][1]
if #request[4] == 1 and request[3] <= 3500 and #list <= 17500 and (not outcomes or outcomes[1] == wanted[1]) then
  local p, slots = base .. wanted[5] .. ':', request[3]
  if wanted[3] then slots = math.min(slots, wanted[3]) end
  local state = call('HMGET', p .. 'type', 'paused', 'prios', 'watched')
  local is_plain = not state[1] and not state[2] and not (state[3] and tonumber(state[3]) > now)
  -- Lost leases are for the rules.
  if is_plain then is_plain = #call('ZRANGEBYSCORE', p .. 'leases', '-inf', now, 'LIMIT', 0, 1) == 0 end
  ${lookAtOutcomes}
  local members = is_plain and slots > 0 and call('ZRANGEBYSCORE', p .. 'line:0', '-inf', now, 'LIMIT', 0, slots) or {}
  local job_keys, job_ids, given, written, leases = {}, {}, {}, {}, {}
  for index, member in ipairs(members) do
    job_ids[index] = sub(member, 7)
    job_keys[index] = p .. 'job:' .. job_ids[index]
  end
  if #members > 0 then
    local worker, label, till = request[1], request[2], now + wanted[2]
    local lease = bytes_of('>I2I2', #worker + 1, label and #label + 1 or 0) .. (label or '') .. bytes_of('>I6d', now, till) .. worker
    local leases_of, till_text, size = {}, format('%.17g', till), 0
    for index, record in ipairs(call('MGET', unpack(job_keys))) do
      local flags, high, middle, low = 255, 0, 0, 0
      if record then flags, high, middle, low = byte(record, 1, 4) end
      if flags > LATER_FLAG or high + middle + low > 0 then
        is_plain = false
        break
      end
      -- Whoever waits has attempt and state at the end.
      local attempts = sub(record, -5, -2)
      local added = leases_of[attempts]
      if not added then
        added = lease .. bytes_of('>I4I2B', numbers_of('>I4', attempts) + 1, #worker + 1, PROCESSING)
        leases_of[attempts] = added
      end
      record = record .. added
      given[index + 1] = record
      written[size + 1], written[size + 2] = job_keys[index], record
      leases[size + 1], leases[size + 2] = till_text, job_ids[index]
      size = size + 2
    end
  end
  if is_plain then
    ${writeOutcomes}
    if #members > 0 then
      call('ZREM', p .. 'line:0', unpack(members))
      call('MSET', unpack(written))
      call('ZADD', p .. 'leases', unpack(leases))
    end
    -- Who finds less than it could take asks next when there will be more.
    local due
    if #members < slots and call('EXISTS', p .. 'paused') == 0 then
      ${firstDue}
      due = at ~= INF and math.max(at, now)
    end
    given[1] = pack({ now, verdicts, {}, {}, job_ids, false, due })
    return given
  end
end
`

/** For each type its name and how it is written in keys. */
export const fastNextDue = `
local wanted, soonest, is_plain = cmsgpack.unpack(ARGV[1]), INF, true
for index = 1, #wanted, 2 do
  local p = base .. wanted[index + 1] .. ':'
  local state = call('HMGET', p .. 'type', 'paused', 'prios')
  if state[2] or call('EXISTS', p .. 'paused') == 1 then
    is_plain = false
    break
  end
  if not state[1] then
    ${firstDue}
    soonest = math.min(soonest, at)
  end
end
if is_plain then return pack({ now, soonest ~= INF and math.max(soonest, now) }) end
`
