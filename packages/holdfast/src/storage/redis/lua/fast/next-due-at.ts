// Fast path of nextDueAt: types without priorities, concurrency, groups in turn and paused groups.

/** When the first job of a type could be claimed: by its runAt, or by the end of its lease. */
export const firstDue = `
    local at = INF
    for _, set in ipairs({ 'ready:0', 'lots', 'leases', 'claims' }) do
      local first = call('ZRANGE', p .. set, 0, 0, 'WITHSCORES')[2]
      if first then at = math.min(at, tonumber(first)) end
    end
`

/** ARGV: for each type its name, its form in keys, and limits or false. */
export const fastNextDueAt = `
local wanted, soonest, is_plain = cmsgpack.unpack(ARGV[1]), INF, true
for index = 1, #wanted, 3 do
  local p = base .. wanted[index + 1] .. ':'
  local state = call('HMGET', p .. 'type', 'paused', 'prios', 'flow')
  -- Without a flow, neither a rate nor groups keep a job waiting.
  local limits = wanted[index + 2]
  if limits and limits[1] or state[2] or state[3] or call('EXISTS', p .. 'paused') == 1 then
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
