// Fast path of nextDueAt: types without priorities and paused groups.

/** When the first job of a type could be claimed: by its runAt, or by the end of its lease. */
export const firstDue = `
    local first, lease = call('ZRANGE', p .. 'ready:0', 0, 0, 'WITHSCORES'), call('ZRANGE', p .. 'leases', 0, 0, 'WITHSCORES')
    local at = math.min(first[2] and tonumber(first[2]) or INF, lease[2] and tonumber(lease[2]) or INF)
`

/** ARGV: for each type its name and its form in keys. */
export const fastNextDueAt = `
local wanted, soonest, is_plain = cmsgpack.unpack(ARGV[1]), INF, true
for index = 1, #wanted, 2 do
  local p = base .. wanted[index + 1] .. ':'
  local state = call('HMGET', p .. 'type', 'paused', 'prios')
  if state[2] or call('EXISTS', p .. 'paused') == 1 then
    is_plain = false
    break
  end
  if not state[1] then
    ${firstDue}
    soonest = math.min(soonest, at)
  end
end
if is_plain then return pack({ now, soonest ~= INF and math.max(soonest, now) }) end
`
