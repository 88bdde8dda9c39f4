// Job types: their keys, pauses and priorities, read once per call.

export const types = `
-- ':' is escaped, so that a type cannot end where an id begins. The empty name is '%'. codec/requests.ts does the same.
local function encode_type(name)
  if name == '' then return '%' end
  if not string.find(name, '[:%%]') then return name end
  return (string.gsub(name, '[:%%]', function(char) return format('%%%02x', byte(char)) end))
end

-- name, p (the prefix of its keys), paused, prios (priorities other than 0), watched (a listener wants its events)
local types = {}
local function type_of(name)
  local t = types[name]
  if t then return t end
  local p = base .. encode_type(name) .. ':'
  local found = call('HMGET', p .. 'type', 'paused', 'prios', 'watched')
  t = { name = name, p = p, paused = decode(found[1]) or nil, prios = decode(found[2]) or {}, watched = found[3] and tonumber(found[3]) > now }
  types[name] = t
  return t
end

-- Registers a type for the reads that name none, and a priority of it for claims.
local function register(t, priority)
  if not t.registered then
    t.registered = true
    call('SADD', base .. ':types', t.name)
  end
  if priority == 0 then return end
  for _, each in ipairs(t.prios) do if each == priority then return end end
  t.prios[#t.prios + 1] = priority
  table.sort(t.prios, function(a, b) return a > b end)
  call('HSET', t.p .. 'type', 'prios', pack(t.prios))
end

-- Highest first, with 0.
local function priorities(t)
  if #t.prios == 0 then return { 0 } end
  local list, zero = {}, false
  for _, each in ipairs(t.prios) do
    if each < 0 and not zero then
      list[#list + 1] = 0
      zero = true
    end
    list[#list + 1] = each
  end
  if not zero then list[#list + 1] = 0 end
  return list
end
`
