// count: jobs of types by state, what is due, pauses, and the use of limits, from the sizes of the sorted sets.

import { stateCodes as state } from '../../rules/job/codes.ts'

/** ARGV: the types, or false for all; false, or whose limits are asked for: the type, its limits (claim/order.ts), and groups. */
export const count = `
local names, asked = unpack(cmsgpack.unpack(ARGV[1]))
names = names or call('SMEMBERS', base .. ':types')
local answers = {}

-- As rules/limits.ts. Answers with the number that runs, the use of the rate, and when a start is possible; false: none, or now.
local function use_of(f, running, most, rate, free_at)
  if most and running >= most then free_at = INF end
  return { running, rate and used_of(f, rate) or false, free_at > now and free_at }
end
local function type_use(t, limits, running)
  local f = t.flow or {}
  return use_of(f, running, limits.concurrency, limits.rate, limits.rate and frees_at(f, limits.rate, f.next_weight or 1) or now)
end
local function group_use(t, limits, key)
  local g, own = group_of(t, key), group_limits(limits, key)
  local size = call('ZCARD', g.members)
  local most = own[1]
  if g.ordered and size > 0 then most = 1 end
  local use = use_of(g, g.running, most, own[2], own[2] and math.max(frees_at(g, own[2], 1), g.free_at or 0) or now)
  use[4], use[5], use[6] = size - g.running, (g.slowed or 0) > now and g.slowed, g.held and g.held[1] or false
  return use
end

local function oldest(set)
  local first = call('ZRANGE', set, 0, 0, 'WITHSCORES')
  return first[2] and tonumber(first[2]) or INF
end

for index, name in ipairs(names) do
  local t = type_of(name)
  local p = t.p
  local sets = { p .. 'aside' }
  for _, priority in ipairs(priorities(t)) do sets[#sets + 1] = p .. 'ready:' .. priority end
  local waiting, due, first = 0, 0, INF
  for _, set in ipairs(sets) do
    waiting = waiting + call('ZCARD', set)
    due = due + call('ZCOUNT', set, '-inf', now)
    first = math.min(first, oldest(set))
  end
  local failing = call('ZCARD', p .. 'failing')
  local queued = due - call('ZCOUNT', p .. 'failing', '-inf', now)
  -- By the states' numbers, plus one.
  local states = {}
  states[${state.scheduled + 1}], states[${state.blocked + 1}] = waiting - failing - queued, call('ZCARD', p .. 'blocked')
  states[${state.queued + 1}], states[${state.processing + 1}] = queued, call('ZCARD', p .. 'leases')
  states[${state.failing + 1}] = failing
  for state = ${state.completed}, ${state.cancelled} do
    states[state + 1] = call('ZCOUNT', p .. 'done:' .. state, '(' .. now, '+inf')
  end
  local groups_paused = {}
  local found = call('HGETALL', p .. 'paused')
  for at = 1, #found, 2 do groups_paused[#groups_paused + 1] = { found[at], decode(found[at + 1]) } end
  answers[index] = {
    name, states, due + call('ZCOUNT', p .. 'leases', '-inf', now), waiting - due, first <= now and first or false,
    t.paused or false, groups_paused, t.flow and (t.flow.slowed or 0) > now and t.flow.slowed or false,
  }
  if asked and asked[1] == name then
    local limits, uses = read_limits(asked[2]), {}
    for at, key in ipairs(asked[3]) do uses[at] = group_use(t, limits, key) end
    answers[index][9], answers[index][10] = type_use(t, limits, states[${state.processing + 1}]), uses
  end
end
return pack({ now, answers })
`
