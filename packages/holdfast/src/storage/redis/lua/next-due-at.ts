// nextDueAt: the earliest instant at which a claim of these types could yield a job.

/** After fastNextDueAt, which has read the arguments. */
export const nextDueAt = `
local at = INF
for index = 1, #wanted, 2 do
  local t = type_of(wanted[index])
  if not t.paused then
    for _, priority in ipairs(priorities(t)) do
      local first = call('ZRANGE', t.p .. 'ready:' .. priority, 0, 0, 'WITHSCORES')
      if first[2] then at = math.min(at, tonumber(first[2])) end
    end
    local has_paused = call('EXISTS', t.p .. 'paused') == 1
    local leases = call('ZRANGE', t.p .. 'leases', 0, has_paused and -1 or 0, 'WITHSCORES')
    -- A lost lease of a paused group could not be claimed again.
    for index = 1, #leases, 2 do
      local j = has_paused and stored(t, leases[index])
      if not (j and j.group_key and group_of(t, j.group_key).paused) then
        at = math.min(at, tonumber(leases[index + 1]))
        break
      end
    end
  end
end
return pack({ now, at ~= INF and math.max(at, now) })
`
