// count: jobs of types by state, what is due, and pauses, from the sizes of the sorted sets.

import { stateCodes as state } from '../../rules/job/codes.ts'

/** ARGV: the types, or false for all. */
export const count = `
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
    t.paused or false, groups_paused,
  }
end
return pack({ now, answers })
`
