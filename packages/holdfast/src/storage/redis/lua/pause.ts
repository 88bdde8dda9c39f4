// As rules/pause.ts: pause or resume a type, or one group of it.

/** ARGV: type, group or false, paused, by. */
export const pause = `
local name, key, paused, by = unpack(cmsgpack.unpack(ARGV[1]))
local t = type_of(name)
-- A second pause keeps the date and the name of the first.
if key then
  local g = group_of(t, key)
  if paused and not g.paused then
    g.paused = { now, by }
    call('HSET', t.p .. 'paused', key, pack(g.paused))
  elseif not paused then
    g.paused = nil
    call('HDEL', t.p .. 'paused', key)
  end
  refresh_group(g)
elseif paused then
  if not t.paused then call('HSET', t.p .. 'type', 'paused', pack({ now, by })) end
else
  call('HDEL', t.p .. 'type', 'paused')
  wake(t)
end
call('SADD', base .. ':types', name)
flush()
send()
return pack({ now })
`
