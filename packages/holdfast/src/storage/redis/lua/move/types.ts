// Job types: their keys, pauses, priorities and flow, read once per call.
//
// The flow of a type is what its claims must consider beyond its jobs without a group, the line. It exists while the type has groups
// in its ring, a rate that was used, a slow-down, or a claim that found it full. A type that uses none of it has no flow, and the
// fast paths are for types without one. As stored (rules/flow.ts):
//
//   f full  s slowed until  a, n turn of the line  w weight of the job that a rate had no room for
//   b buckets of its rate (job/rate.ts)  u when all of them have left the window

export const types = `
-- ':' is escaped, so that a type cannot end where an id begins. The empty name is '%'. codec/requests.ts does the same.
local function encode_type(name)
  if name == '' then return '%' end
  if not string.find(name, '[:%%]') then return name end
  return (string.gsub(name, '[:%%]', function(char) return format('%%%02x', byte(char)) end))
end

local function decode_flow(bytes)
  local f = decode(bytes)
  return f and { full = f.f, slowed = f.s, turn_at = f.a, turn = f.n, next_weight = f.w, buckets = f.b, rate_until = f.u } or nil
end

-- name, p (the prefix of its keys), paused, prios (priorities other than 0), watched (a listener wants its events), flow,
-- holds (the number of jobs that hold their group: job/hold.ts)
local types = {}
local function type_of(name)
  local t = types[name]
  if t then return t end
  local p = base .. encode_type(name) .. ':'
  local found = call('HMGET', p .. 'type', 'paused', 'prios', 'watched', 'flow', 'holds')
  t = { name = name, p = p, paused = decode(found[1]) or nil, prios = decode(found[2]) or {}, watched = found[3] and tonumber(found[3]) > now,
    flow = decode_flow(found[4]), holds = tonumber(found[5] or 0) }
  types[name] = t
  return t
end

-- Adds a priority to those of a type or group. True if it is new.
local function add_priority(owner, priority)
  if priority == 0 then return false end
  for _, each in ipairs(owner.prios) do if each == priority then return false end end
  owner.prios[#owner.prios + 1] = priority
  table.sort(owner.prios, function(a, b) return a > b end)
  return true
end

-- Registers a type for the reads that name none, and a priority of it for claims.
local function register(t, priority)
  if not t.registered then
    t.registered = true
    call('SADD', base .. ':types', t.name)
  end
  if add_priority(t, priority) then call('HSET', t.p .. 'type', 'prios', pack(t.prios)) end
end

-- Of a type or group: highest first, with 0.
local function priorities(owner)
  if #owner.prios == 0 then return { 0 } end
  local list, zero = {}, false
  for _, each in ipairs(owner.prios) do
    if each < 0 and not zero then
      list[#list + 1] = 0
      zero = true
    end
    list[#list + 1] = each
  end
  if not zero then list[#list + 1] = 0 end
  return list
end

local flows = {}
-- Every change of a flow is followed by it. Creates the flow of a type that had none.
local function touch_flow(t)
  t.flow = t.flow or {}
  flows[t] = true
end
-- Removes what is over from the flow of a type, or from the state of a group. True if it has changed.
local function drop_over(f)
  local slow_over, rate_over = f.slowed and f.slowed <= now, f.rate_until and f.rate_until <= now
  if slow_over then f.slowed = nil end
  if rate_over then f.buckets, f.rate_until, f.next_weight, f.free_at = nil, nil, nil, nil end
  return slow_over or rate_over
end
local function write_flows()
  for t in pairs(flows) do
    local f = t.flow
    drop_over(f)
    local has_ring = call('EXISTS', t.p .. 'ring') == 1
    -- Without groups in the ring, the turn of the line says nothing: the line goes first.
    if not has_ring then f.turn_at, f.turn = nil, nil end
    if has_ring or next(f) ~= nil then
      call('HSET', t.p .. 'type', 'flow', pack({ f = f.full, s = f.slowed, a = f.turn_at, n = f.turn, w = f.next_weight,
        b = f.buckets, u = f.rate_until }))
    else
      call('HDEL', t.p .. 'type', 'flow')
      t.flow = nil
    end
  end
  flows = {}
end
`
