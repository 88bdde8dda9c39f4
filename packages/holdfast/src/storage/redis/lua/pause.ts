// As rules/pause.ts: pause or resume a type, or one group of it.

/** ARGV: type, group or false, paused, by. */
export const pause = `
local name, key, paused, by = unpack(cmsgpack.unpack(ARGV[1]))
local t = type_of(name)
local function is_package(by)
  return by and string.sub(by, 1, 10) == '@holdfast/'
end
-- As pausedAfter() there.
local function paused_after(before)
  if not before then return paused and { now, by } or nil end
  if paused then return is_package(before[2]) and not is_package(by) and { now, by } or before end
  return is_package(by) and by ~= before[2] and before or nil
end
if key then
  local g = group_of(t, key)
  g.paused = paused_after(g.paused)
  if g.paused then
    call('HSET', t.p .. 'paused', key, pack(g.paused))
  else
    call('HDEL', t.p .. 'paused', key)
  end
  refresh_group(g)
else
  local after = paused_after(t.paused)
  if after then
    call('HSET', t.p .. 'type', 'paused', pack(after))
  else
    call('HDEL', t.p .. 'type', 'paused')
  end
  if not paused then wake(t) end
end
call('SADD', base .. ':types', name)
flush()
send()
return pack({ now })
`
