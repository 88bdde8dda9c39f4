// What every script begins with. Numbers of states, outcomes and verdicts are written into the Lua texts as constants: a
// local would be assigned on each call.

/** Reads the server's time, once per call. `expires`: the server expires keys by itself. */
export const serverTime = `
local time = redis.call('TIME')
local now, expires = time[1] * 1000 + math.floor(time[2] / 1000), true
`

/** Locals of the fast paths and of the rules. */
export const start = `
local base, call, pack, unpack_one = KEYS[1], redis.call, cmsgpack.pack, cmsgpack.unpack_one
local sub, byte, char, format, INF = string.sub, string.byte, string.char, string.format, math.huge
local bytes_of, numbers_of = struct.pack, struct.unpack
`
