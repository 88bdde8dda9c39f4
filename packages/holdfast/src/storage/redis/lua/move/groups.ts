// Groups: their members in the order of acceptance, and their turn in the ring of their type.
//
//   group:<key>            sorted set: the unfinished members, by the order of acceptance
//   wait:<priority>:<key>  sorted sets of an unordered group: the members that wait, as in ready:<priority>
//   ring                   sorted set: the groups of the type that have a job to start, by the instant from which they may be claimed;
//                          6 bytes of a number, then the key. The number orders groups of one instant
//   flow:<key>             the state (rules/flow.ts): o ordered  r number of running members  a, n turn in the ring  s slowed until
//                          h ids of the failed jobs that hold it  f full: it left the ring at its limit  p priorities of members
//                          x when its rate is free for its next job  b, u the use of its rate, as in move/types.ts
//
// Sets are written at once, so that a call finds what it has changed itself. The state is written by flush().

export const groups = `
local groups = {}
local function group_of(t, key)
  local members = t.p .. 'group:' .. key
  local g = groups[members]
  if g then return g end
  local s = decode(call('GET', t.p .. 'flow:' .. key)) or {}
  -- Few types have paused groups: asked once.
  if t.has_pauses == nil then t.has_pauses = call('EXISTS', t.p .. 'paused') == 1 end
  g = { t = t, key = key, members = members, ordered = s.o, running = s.r or 0, turn_at = s.a, turn = s.n, slowed = s.s, held = s.h,
    full = s.f, prios = s.p or {}, free_at = s.x, buckets = s.b, rate_until = s.u,
    paused = t.has_pauses and decode(call('HGET', t.p .. 'paused', key)) or nil }
  groups[members] = g
  return g
end
local function head_of(g)
  local first = call('ZRANGE', g.members, 0, 0)[1]
  return first and stored(g.t, first)
end
-- The first member decides about the kind of its group.
local function join_group(j)
  local g, ordered = group_of(j.t, j.group_key), j.kind ~= false
  if g.ordered ~= ordered and call('EXISTS', g.members) == 0 then g.ordered, g.dirty = ordered, true end
  call('ZADD', g.members, j.accepted, j.id)
end

local function wait_set(g, priority) return g.t.p .. 'wait:' .. priority .. ':' .. g.key end
local function list_waiting(g, j)
  if g.ordered then return end
  if add_priority(g, j.priority) then g.dirty = true end
  call('ZADD', wait_set(g, j.priority), j.run_at, ready_member(j.order, j.id))
end
local function unlist_waiting(g, j)
  if not g.ordered then call('ZREM', wait_set(g, j.priority), ready_member(j.order, j.id)) end
end
-- The earliest runAt of a waiting member of an unordered group, or nil.
local function first_run_at(g)
  local at = INF
  for _, priority in ipairs(priorities(g)) do
    local first = call('ZRANGE', wait_set(g, priority), 0, 0, 'WITHSCORES')
    if first[2] then at = math.min(at, tonumber(first[2])) end
  end
  return at ~= INF and at or nil
end

-- Gives a group another place in the ring: behind all groups that may be claimed at that instant. Nil: it leaves the ring.
local function set_turn(g, at)
  local ring = g.t.p .. 'ring'
  if g.turn_at then call('ZREM', ring, bytes_of('>I6', g.turn) .. g.key) end
  g.turn_at, g.turn, g.dirty = at, at and take_number() or nil, true
  if at then call('ZADD', ring, at, bytes_of('>I6', g.turn) .. g.key) end
  if not at or not g.t.flow then touch_flow(g.t) end
end

local function write_groups()
  for _, g in pairs(groups) do
    if g.dirty then
      g.dirty = false
      drop_over(g)
      local key = g.t.p .. 'flow:' .. g.key
      local is_used = g.running > 0 or g.turn_at or g.full or g.held or call('EXISTS', g.members) == 1
      if not is_used then g.ordered, g.prios = nil, {} end
      local state = { o = g.ordered, r = g.running > 0 and g.running or nil, a = g.turn_at, n = g.turn, s = g.slowed, h = g.held,
        f = g.full, p = #g.prios > 0 and g.prios or nil, x = g.free_at, b = g.buckets, u = g.rate_until }
      if next(state) == nil then call('DEL', key)
      else
        -- A group without jobs is kept for as long as its rate or its slow-down lasts.
        local till = not is_used and time_text(math.max(g.slowed or 0, g.rate_until or 0))
        if till then call('SET', key, pack(state), 'PXAT', till) else call('SET', key, pack(state)) end
      end
    end
  end
end
`
