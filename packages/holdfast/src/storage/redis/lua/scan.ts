// What list reads before it reads records: names and priorities of types, and the members of sorted sets.

/** ARGV: the types, or false for all. Answers with each type and its priorities. */
export const types = `
local answers = {}
for index, name in ipairs(cmsgpack.unpack(ARGV[1]) or call('SMEMBERS', base .. ':types')) do
  answers[index] = { name, priorities(type_of(name)) }
end
return pack({ now, answers })
`

/** ARGV: refs. Answers with the instant at which each was created, or false. Reads only these bytes (move/record.ts). */
export const created = `
local answers = {}
for index, ref in ipairs(cmsgpack.unpack(ARGV[1])) do
  local bytes = call('GETRANGE', type_of(ref[1]).p .. 'job:' .. ref[2], 4, 9)
  answers[index] = #bytes == 6 and numbers_of('>I6', bytes) or false
end
return pack({ now, answers })
`

/**
 * The part of a sorted set between two bounds, as the ranks from which, and before which, it lies. The text `now` in a bound
 * by score stands for the server's time.
 */
const ranks = `
-- A segment: 1 set  2 whether the bounds are members, not scores  3 least and  4 greatest bound  5 score and  6 member to go on from
local function at_time(bound) return (string.gsub(bound, 'now', format('%.0f', now))) end
local function ranks_of(set, segment)
  local by_member, min, max = segment[2], segment[3], segment[4]
  if by_member then return call('ZCARD', set) - call('ZLEXCOUNT', set, min, '+'), call('ZLEXCOUNT', set, '-', max) end
  return call('ZCARD', set) - call('ZCOUNT', set, at_time(min), '+inf'), call('ZCOUNT', set, '-inf', at_time(max))
end
`

/** ARGV: segments. Answers with the number of members in each. */
export const sizes = `
${ranks}
local answers = {}
for index, segment in ipairs(cmsgpack.unpack(ARGV[1])) do
  local from, to = ranks_of(base .. segment[1], segment)
  answers[index] = math.max(0, to - from)
end
return pack({ now, answers })
`

/**
 * ARGV: the most members to read, whether backwards, segments. Answers with the number of segments that were read to their
 * end, and for each member the number of its segment, its score and itself.
 *
 * A page goes on from a score and a member, not from a rank, so that members that come and go neither hide nor repeat others.
 * The place is found in a logarithmic number of steps, also among many members of one score, and if its member is gone.
 */
export const window = `
${ranks}
local most, backwards, segments = unpack(cmsgpack.unpack(ARGV[1]))

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

local finished, found, count = 0, {}, 0
for index, segment in ipairs(segments) do
  if count >= most then break end
  local set = base .. segment[1]
  local from, to = ranks_of(set, segment)
  if segment[5] and backwards then to = math.min(to, rank_of(set, segment[5], segment[6]))
  elseif segment[5] then from = math.max(from, rank_of(set, segment[5], segment[6])) end
  local left = most - count
  local is_more = to - from > left
  if is_more and backwards then from = to - left elseif is_more then to = from + left end
  local page = to > from and call('ZRANGE', set, from, to - 1, 'WITHSCORES') or {}
  local first, last, step = 1, #page - 1, 2
  if backwards then first, last, step = #page - 1, 1, -2 end
  for at = first, last, step do
    found[3 * count + 1], found[3 * count + 2], found[3 * count + 3] = index, page[at + 1], page[at]
    count = count + 1
  end
  if is_more then break end
  finished = index
end
return pack({ now, finished, found })
`
