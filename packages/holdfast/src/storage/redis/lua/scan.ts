// scan: names of types, priorities of a type, or ids of one of its sorted sets, a page at a time. For list.

/** ARGV: type or false, name of the set, cursor. */
export const scan = `
local name, set, cursor = unpack(cmsgpack.unpack(ARGV[1]))
if not name then return pack({ now, '0', call('SMEMBERS', base .. ':types') }) end
local t = type_of(name)
if set == 'prios' then return pack({ now, '0', priorities(t) }) end
local page = call('ZSCAN', t.p .. set, cursor, 'COUNT', 500)
local ids = {}
for index = 1, #page[2], 2 do ids[#ids + 1] = page[2][index] end
return pack({ now, page[1], ids })
`
