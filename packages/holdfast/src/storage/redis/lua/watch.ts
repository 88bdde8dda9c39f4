// watch: marks a type as watched for a while. Events are published only for watched types.

/** ARGV: type, ms. */
export const watch = `
local t = type_of(ARGV[1])
register(t, 0)
call('HSET', t.p .. 'type', 'watched', now + tonumber(ARGV[2]))
return pack({ now })
`
