// count: jobs of types by state, what is due, pauses, and the use of limits, from the sizes of the sorted sets; and what a claim would
// start next.

import { stateCodes as state } from '../../rules/job/codes.ts'

/**
 * ARGV: the types, or false for all; false, or whose limits are asked for: the type, its limits (claim/limits.ts), and groups; false, or
 * of which type the next start: the type, its limits, a group or false, and a weight.
 */
export const count = `
local names, asked, wanted = unpack(cmsgpack.unpack(ARGV[1]))
names = names or call('SMEMBERS', base .. ':types')
local answers = {}

-- As rules/limits.ts. Answers with the number that runs, the use of the rate, and when a start is possible; false: none, or now.
local function use_of(f, running, most, rate, free_at)
  if most and running >= most then free_at = INF end
  return { running, rate and used_of(f, rate) or false, free_at > now and free_at }
end
local function type_use(t, limits, running, weight)
  local f = t.flow or {}
  return use_of(f, running, limits.concurrency, limits.rate, limits.rate and frees_at(f, limits.rate, math.max(f.next_weight or 1, weight)) or now)
end
local function group_use(t, limits, key, weight)
  local g, own = group_of(t, key), group_limits(limits, key)
  local size = call('ZCARD', g.members)
  local most = own[1]
  if g.ordered and size > 0 then most = 1 end
  local use = use_of(g, g.running, most, own[2], own[2] and math.max(frees_at(g, own[2], weight), g.free_at or 0) or now)
  use[4], use[5], use[6] = size - g.running, (g.slowed or 0) > now and g.slowed, g.held and g.held[1] or false
  return use
end

-- As rules/next-start.ts.
local function line_of(t)
  for _, priority in ipairs(priorities(t)) do
    local first = call('ZRANGEBYSCORE', t.p .. 'ready:' .. priority, '-inf', now, 'WITHSCORES', 'LIMIT', 0, 1)
    local member, id, run_at, order = first[1], nil, nil, nil
    if priority == 0 then id, run_at, order = lots.first(t.p) end
    local score = tonumber(first[2] or INF)
    if id and (run_at < score or run_at == score and order < numbers_of('>I6', member)) then return id end
    if member then return sub(member, 7) end
  end
  return false
end
-- The key of the group whose turn it is; true: the turn of the line; false: of none, or several could be next.
local function turn_of(t, limits, line)
  local found = t.flow and groups_in_turn(t, 2) or {}
  local first, second = found[1], found[2]
  if not first then return line and true end
  if limits.fair == false then return not line and not second and first.key end
  return line and is_turn_before(t.flow, first) or first.key
end
local function next_of_group(t, limits, key, weight)
  local g, use = group_of(t, key), group_use(t, limits, key, weight)
  local ordered = g.ordered and call('EXISTS', g.members) == 1 or false
  local first
  if ordered then first = call('ZRANGE', g.members, 0, 0)[1] else first = (due_job_of(g) or {}).id end
  use[7], use[8], use[9], use[10] = g.paused or false, ordered, first or false, g.turn_at or false
  return use
end
local function next_start(name, list, key, weight)
  local t, limits = type_of(name), read_limits(list)
  local line, lease_end = line_of(t), first_lease_end(t)
  local use = type_use(t, limits, claims.leased(t.p), weight)
  use[4], use[5] = t.paused or false, t.flow and (t.flow.slowed or 0) > now and t.flow.slowed or false
  use[6], use[7], use[8] = lease_end ~= INF and lease_end, line, turn_of(t, limits, line)
  use[9] = key and next_of_group(t, limits, key, weight)
  use[10] = call('ZCOUNT', t.p .. 'aside', '-inf', now) + lots.count(t.p, now)
  for _, priority in ipairs(priorities(t)) do
    use[10] = use[10] + call('ZCOUNT', t.p .. 'ready:' .. priority, '-inf', now)
  end
  return use
end

-- Of many types each command counts, so sets that few types have are looked for by one of them.
local till_now, after_now = format('%.0f', now), '(' .. format('%.0f', now)
for index, name in ipairs(names) do
  local t = type_of(name)
  local p = t.p
  local numbers = call('HMGET', p .. 'type', 'lots', 'ended')
  local waiting, due, first = tonumber(numbers[1] or 0), 0, INF
  if waiting > 0 then due, first = lots.count(p, now), first_score(p .. 'lots') end
  local function add_set(set)
    local size = call('ZCARD', set)
    if size == 0 then return end
    waiting = waiting + size
    due = due + call('ZCOUNT', set, '-inf', till_now)
    first = math.min(first, first_score(set))
  end
  add_set(p .. 'aside')
  for _, priority in ipairs(priorities(t)) do add_set(p .. 'ready:' .. priority) end
  local failing, failing_due, blocked, leased, lost, groups_paused = 0, 0, 0, 0, 0, {}
  if call('EXISTS', p .. 'failing', p .. 'blocked', p .. 'leases', p .. 'claims', p .. 'paused') > 0 then
    failing, blocked = call('ZCARD', p .. 'failing'), call('ZCARD', p .. 'blocked')
    if failing > 0 then failing_due = call('ZCOUNT', p .. 'failing', '-inf', till_now) end
    leased = claims.leased(p)
    if leased > 0 then lost = claims.lost(p) end
    local found = call('HGETALL', p .. 'paused')
    for at = 1, #found, 2 do groups_paused[#groups_paused + 1] = { found[at], decode(found[at + 1]) } end
  end
  local queued = due - failing_due
  -- By the states' numbers, plus one.
  local states = {}
  states[${state.scheduled + 1}], states[${state.blocked + 1}] = waiting - failing - queued, blocked
  states[${state.queued + 1}], states[${state.processing + 1}] = queued, leased
  states[${state.failing + 1}] = failing
  for state = ${state.completed}, ${state.cancelled} do
    states[state + 1] = call('ZCOUNT', p .. 'done:' .. state, after_now, '+inf')
  end
  if numbers[2] then states[${state.completed + 1}] = states[${state.completed + 1}] + ends.count(p) end
  answers[index] = {
    name, states, due + lost, waiting - due, first <= now and first or false,
    t.paused or false, groups_paused, t.flow and (t.flow.slowed or 0) > now and t.flow.slowed or false,
  }
  if asked and asked[1] == name then
    local limits, uses = read_limits(asked[2]), {}
    for at, key in ipairs(asked[3]) do uses[at] = group_use(t, limits, key, 1) end
    answers[index][9], answers[index][10] = type_use(t, limits, states[${state.processing + 1}], 1), uses
  end
end
return pack({ now, answers, wanted and next_start(unpack(wanted)) })
`
