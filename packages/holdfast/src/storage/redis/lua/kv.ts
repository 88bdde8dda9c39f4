// The key-value contract. An entry: 1 number  2 end of its ttl, or false  3 value  4 token of the compare that wrote
// it, or nothing: a Cluster client sends a call again whose reply was lost, and the repeat would find the value changed. Keys are indexed in their order, so that
// list reads them a page at a time. The number of an entry tells a list whether it was set after the first page.

export const kvRules = `
local function entry_of(key)
  local entry = decode(call('GET', base .. ':kv:' .. key))
  if not entry or (entry[2] and entry[2] <= now) then return nil end
  return entry
end
`

/** ARGV: the key. */
export const kvGet = `
local entry = entry_of(ARGV[1])
return entry and entry[3] or false
`

/**
 * ARGV: key, compare, expected, value, ttlMs, token or false. compare: only if the value is the expected one (false: absent). A value of
 * false deletes.
 */
export const kvWrite = `
local key, compare, expected, value, ttl, token = unpack(cmsgpack.unpack(ARGV[1]))
local entry = entry_of(key)
if token and entry and entry[4] == token then return pack({ now, true, true }) end
if compare and (entry and entry[3] or false) ~= expected then return pack({ now, false, false }) end
local name = base .. ':kv:' .. key
if not value or (ttl and ttl <= 0) then
  call('DEL', name)
  call('ZREM', base .. ':kv', key)
  call('ZREM', base .. ':kvx', key)
  return pack({ now, true, entry ~= nil })
end
local till = ttl and now + ttl or false
local record = pack({ entry and entry[1] or call('INCR', base .. ':kn'), till, value, token or nil })
local text = till and time_text(till)
if text then call('SET', name, record, 'PXAT', text) else call('SET', name, record) end
call('ZADD', base .. ':kv', 0, key)
if till and till ~= INF then call('ZADD', base .. ':kvx', till, key) else call('ZREM', base .. ':kvx', key) end
return pack({ now, true, entry ~= nil })
`

/** ARGV: prefix, key to begin after, number of the newest entry or false, limit. */
export const kvList = `
local prefix, after, newest, limit = unpack(cmsgpack.unpack(ARGV[1]))
newest = newest or tonumber(call('GET', base .. ':kn') or 0)
local from = after ~= '' and '(' .. after or (prefix ~= '' and '[' .. prefix or '-')
-- A prefix ends in '/', and '0' is the character after '/'.
local to = prefix ~= '' and '(' .. sub(prefix, 1, -2) .. '0' or '+'
local items, position = {}, 0
while #items <= limit do
  local keys = call('ZRANGEBYLEX', base .. ':kv', from, to, 'LIMIT', position, 500)
  position = position + #keys
  if #keys == 0 then break end
  for _, key in ipairs(keys) do
    local entry = entry_of(key)
    if entry and entry[1] <= newest then items[#items + 1] = { key, entry[3] } end
    if #items > limit then break end
  end
end
return pack({ now, newest, items })
`
