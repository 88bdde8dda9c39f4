// What list reads before it reads records: search fields, and the members of sorted sets.

import { stateCodes as state } from '../../rules/job/codes.ts'
import { flags } from '../codec/record.ts'
import { passOver } from './pass-over.ts'

/** ARGV: refs. Answers with the packed search fields of each, or false. Unpacks only the part of a record that has them. */
export const fields = `
local answers = {}
for index, ref in ipairs(cmsgpack.unpack(ARGV[1])) do
  local record = call('GET', type_of(ref[1]).p .. 'job:' .. ref[2])
  local _, body
  if record then _, body = unpack_one(record, byte(record) % 2 == ${flags.later} and 18 or 10) end
  answers[index] = body and body[10] or false
end
return pack({ now, answers })
`

/** The text `now` in a bound by score stands for the server's time. */
const times = `
local times = {}
local function at_time(bound)
  -- Many segments have the same bound.
  local time = times[bound] or string.gsub(bound, 'now', format('%.0f', now))
  times[bound] = time
  return time
end
`

/**
 * ARGV: whether backwards; how many are wanted; groups: the segments that some types have alike, each with its set, its bounds by score,
 * the length of what stands before the id in a member, and whether no score is before the creation of its job; then these types, encoded.
 *
 * Answers with the number of segments that have a job, and with those whose last job (first, if not backwards) was created last (first):
 * the number of the segment, counted through all types, and the instant, -1 if the record is gone. It changes nothing: entries that list
 * several jobs are read as they are.
 */
export const heads = `
${times}
local backwards, most, groups = unpack(cmsgpack.unpack(ARGV[1]))
-- Sets that few types have at a time. One command looks for all of them.
local rare = { ['blocked'] = true, ['leases'] = true, ['done:${state.cancelled}'] = true }

-- The best ones so far, the best first.
local best, instants, size = {}, {}, 0
local function note(segment, created)
  local at = size
  while at > 0 and backwards == (created > instants[at]) and created ~= instants[at] do at = at - 1 end
  if at >= most then return end
  table.insert(best, at + 1, segment)
  table.insert(instants, at + 1, created)
  if size < most then size = size + 1 else best[most + 1], instants[most + 1] = nil, nil end
end

-- The first member of a part of a set, and its score. The end of a set is read by its rank: that takes half as long as a search by score.
local by_rank = backwards and 'ZREVRANGE' or 'ZRANGE'
local function first_of(set, segment)
  local first
  if segment.ends then
    first = call(by_rank, set, '0', '0', 'WITHSCORES')
    local score, bound = tonumber(first[2]), segment.bound
    if score and (not bound or backwards and score > bound or not backwards and score < bound or score == bound and segment.is_in) then
      return first[1], score
    end
    return nil
  end
  local min, max = segment[2], segment[3]
  if backwards then first = call('ZREVRANGEBYSCORE', set, max, min, 'WITHSCORES', 'LIMIT', 0, 1)
  else first = call('ZRANGEBYSCORE', set, min, max, 'WITHSCORES', 'LIMIT', 0, 1) end
  return first[1], tonumber(first[2])
end
-- ends: the segment has the first member of its set, if any. bound: unless its score is not up to this. is_in: the bound itself is.
local function set_bounds(segment)
  segment[2], segment[3] = at_time(segment[2]), at_time(segment[3])
  segment.ends = segment[backwards and 3 or 2] == (backwards and '+inf' or '-inf')
  local other = segment[backwards and 2 or 3]
  segment.is_in = byte(other) ~= 40 -- '('
  if not string.find(other, 'inf', 1, true) then segment.bound = tonumber(segment.is_in and other or sub(other, 2)) end
end
local function note_job(segment, p, id)
  local bytes = call('GETRANGE', p .. 'job:' .. id, 4, 9)
  note(segment, #bytes == 6 and numbers_of('>I6', bytes) or -1)
end
-- One id of a packed list: jobs that stand in one entry were added about the same time.
local function id_of(packed, at)
  local _, id = unpack_one(packed, at + (byte(packed, at + 1) == 0xdc and 3 or 1))
  return id
end
-- Looks at the jobs that a set lists in entries. True if there are some.
local listed = {
  ['ready:0'] = function(number, p, segment, has)
    -- They were due when they were added.
    local entry, score
    if has[1] then entry, score = first_of(p .. 'lots', segment) end
    if entry then note(number, score) end
    return entry
  end,
  ['done:${state.completed}'] = function(number, p, segment, has)
    local entry = has[2] and first_of(p .. 'ends', segment)
    if entry then note_job(number, p, id_of(entry, 10)) end
    return entry
  end,
  ['leases'] = function(number, p, segment)
    local worker = first_of(p .. 'claims', segment)
    if worker then note_job(number, p, id_of(call('HGET', p .. 'claims:ids', worker), 0)) end
    return worker
  end,
}

local number, filled = 0, 0
for _, group in ipairs(groups) do
  local segments, types = group[1], group[2]
  local has_rare, has_listed = false, false
  for _, segment in ipairs(segments) do
    set_bounds(segment)
    has_rare = has_rare or rare[segment[1]]
    has_listed = has_listed or listed[segment[1]] ~= nil and not rare[segment[1]]
  end
  for _, name in ipairs(types) do
    local p = base .. name .. ':'
    -- The numbers of jobs that are listed in entries: of most types there is none.
    local has = has_listed and call('HMGET', p .. 'type', 'lots', 'ended')
    local any_rare = has_rare
      and call('EXISTS', p .. 'blocked', p .. 'leases', p .. 'claims', p .. 'done:${state.cancelled}') > 0
    for _, segment in ipairs(segments) do
      number = number + 1
      local set = segment[1]
      if any_rare or not rare[set] then
        local member, score = first_of(p .. set, segment)
        -- Not if it was created too early in any case.
        if member and not (backwards and segment[5] and size == most and score <= instants[most]) then
          note_job(number, p, sub(member, segment[4] + 1))
        end
        local others = listed[set] and listed[set](number, p, segment, has)
        if member or others then filled = filled + 1 end
      end
    end
  end
end
return pack({ now, filled, best, instants })
`

/**
 * The part of a sorted set between two bounds, as the ranks from which, and before which, it lies.
 */
const ranks = `
${times}
-- A segment: 1 set  2 whether the bounds are members, not scores  3 least and  4 greatest bound  5 score and  6 member to go on from
-- 7 length of what stands before the id in a member; false: the member names the instant of creation too
-- 8 members after which it counts as read to its end, or false
-- The prefix of the keys of its type, and the name of the set. Jobs of these sets may be listed by several in one entry
-- (move/claims.ts, move/ends.ts, move/lots.ts).
local leased, ended, ready = 'leases', 'done:${state.completed}', 'ready:0'
local function names_of(segment)
  local colon = string.find(segment[1], ':', 1, true)
  return base .. sub(segment[1], 1, colon), sub(segment[1], colon + 1)
end
local function ranks_of(set, segment)
  local by_member, min, max = segment[2], segment[3], segment[4]
  local size = call('ZCARD', set)
  if size == 0 then return 0, 0 end
  if by_member then return size - call('ZLEXCOUNT', set, min, '+'), call('ZLEXCOUNT', set, '-', max) end
  local from = min == '-inf' and 0 or size - call('ZCOUNT', set, at_time(min), '+inf')
  return from, max == '+inf' and size or call('ZCOUNT', set, '-inf', at_time(max))
end
`

/** ARGV: segments. Answers with the number of members in each. */
export const sizes = `
${ranks}
-- Those that are due, those that are not, or both: by the bounds of the segment.
local function waiting_in_lots(p, segment)
  local due = lots.count(p, now)
  return (segment[3] == '-inf' and due or 0) + (segment[4] == '+inf' and lots.count(p) - due or 0)
end
local answers = {}
for index, segment in ipairs(cmsgpack.unpack(ARGV[1])) do
  local from, to = ranks_of(base .. segment[1], segment)
  local p, name = names_of(segment)
  local more = name == leased and claims.count(p) or name == ended and ends.count(p) or name == ready and waiting_in_lots(p, segment) or 0
  answers[index] = math.max(0, to - from) + more
end
return pack({ now, answers })
`

/**
 * ARGV: the most members to read; whether backwards; segments; for segments of the search index, the last bytes that records of
 * wanted jobs may have, or false. A record ends with its state (codec/record.ts), so no other byte of it has to be read. Then whether
 * the instants are wanted at which the jobs were created: only the first bytes are read (move/record.ts). If so, jobs that were created
 * before the next value or after the one behind it are passed over, and those that are not as the last value says (`only`, or false).
 *
 * Answers with the number of segments that were read to their end; for each member of a wanted job the number of its segment, its
 * score (empty with instants), itself, and the instant (false: not wanted; -1: the job is gone); and, if a segment was read in part, the
 * score and the member that were read last.
 *
 * A page goes on from a score and a member, not from a rank, so that members that come and go neither hide nor repeat others.
 * The place is found in a logarithmic number of steps, also among many members of one score, and if its member is gone.
 */
export const window = `
${ranks}
local most, backwards, segments, states, with_created, since, till, only = unpack(cmsgpack.unpack(ARGV[1]))
local is_wanted = {}
local listed = states or only and only[4] or ''
for at = 1, #listed do is_wanted[sub(listed, at, at)] = true end

-- As Redis sorts members of one score. Lua would compare by the locale.
local function is_before(a, b)
  for at = 1, math.min(#a, #b) do
    local left, right = byte(a, at), byte(b, at)
    if left ~= right then return left < right end
  end
  return #a < #b
end

-- The number of members before this place; forwards, the member itself is one of them.
local function rank_of(set, score, member)
  local low, high = call('ZCOUNT', set, '-inf', '(' .. score), call('ZCOUNT', set, '-inf', score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local found = call('ZRANGE', set, middle, middle)[1]
    local before
    if backwards then before = is_before(found, member) else before = not is_before(member, found) end
    if before then low = middle + 1 else high = middle end
  end
  return low
end

-- The key of a job's record, without its id.
local function records_of(segment) return names_of(segment) .. 'job:' end

-- Lists by themselves the jobs that could be among the next ones of a segment, so many at least. edge: the score of the last of them,
-- if the set has as many. Returns whether no other job could be among them, and whether one was listed.
local function spread(each, p, segment, count, edge)
  local from, to = at_time(segment[3]), at_time(segment[4])
  if segment[5] and backwards then to = segment[5] elseif segment[5] then from = segment[5] end
  if edge and backwards then from = edge elseif edge then to = edge end
  return each(p, from, to, count, backwards)
end
-- The ranks from which, and before which, the next members of a segment are.
local function next_ranks(set, segment)
  local from, to = ranks_of(set, segment)
  if segment[5] and backwards then to = math.min(to, rank_of(set, segment[5], segment[6]))
  elseif segment[5] then from = math.max(from, rank_of(set, segment[5], segment[6])) end
  return from, to
end

-- Whether the job of an entry of the search index (move/search.ts) has a wanted state.
local function has_state(segment, member)
  local _, at = nil, 0
  if segment[2] then _, at = string.find(member, '\\0\\0', 1, true) end
  return is_wanted[call('GETRANGE', records_of(segment) .. sub(member, at + 7), -1, -1)]
end

${passOver}

local finished, found, count, size = 0, {}, 0, 0
local score, member = false, false
for index, segment in ipairs(segments) do
  if count >= most then break end
  local set = base .. segment[1]
  local left = math.min(most - count, segment[8] or INF)
  local from, to = next_ranks(set, segment)
  local p, name = names_of(segment)
  local each = name == leased and claims.spread or name == ended and ends.spread or name == ready and lots.spread
  local is_spread, any = not each, false
  while not is_spread do
    local last = backwards and to - 1 - left or from + left
    local edge = to - from > left and call('ZRANGE', set, last, last, 'WITHSCORES')[2]
    is_spread, any = spread(each, p, segment, left + 1, edge)
    if any then from, to = next_ranks(set, segment) end
  end
  local is_more = to - from > left
  if is_more and backwards then from = to - left elseif is_more then to = from + left end
  -- Of jobs by creation only the last place is wanted: the server prints scores slowly.
  local page = {}
  if to > from and with_created then page = call('ZRANGE', set, from, to - 1)
  elseif to > from then page = call('ZRANGE', set, from, to - 1, 'WITHSCORES') end
  local records = records_of(segment)
  local width = with_created and 1 or 2
  local first, last, step = 1, #page - width + 1, width
  if backwards then first, last, step = last, 1, -width end
  for at = first, last, step do
    member, score = page[at], with_created and '' or page[at + 1]
    count = count + 1
    if not states or has_state(segment, member) then
      local created = created_at(segment, member, p, name, records)
      if created ~= nil then
        found[size + 1], found[size + 2], found[size + 3], found[size + 4] = index, score, member, created
        size = size + 4
      end
    end
  end
  if is_more and left ~= segment[8] then
    if with_created then score = call('ZSCORE', set, member) end
    break
  end
  finished, score, member = index, false, false
end
return pack({ now, finished, found, score, member })
`
