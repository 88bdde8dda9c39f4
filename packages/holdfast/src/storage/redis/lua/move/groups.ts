// Ordered groups: their members in the order of acceptance, the job that runs, and the head while it may be claimed.

export const groups = `
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

local function write_groups()
  for _, g in pairs(groups) do
    if g.dirty then
      g.dirty = false
      local key = g.t.p .. 'held:' .. g.key
      if g.running or g.placed then call('SET', key, pack({ g.running or false, g.placed or false })) else call('DEL', key) end
    end
  end
end
`
