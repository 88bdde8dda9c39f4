// The first instants of sorted sets: of a lease, or of jobs that wait.

export const firstLease = `
local function first_score(set)
  local first = call('ZRANGE', set, 0, 0, 'WITHSCORES')
  return first[2] and tonumber(first[2]) or INF
end

-- The first end of a lease. A lost lease of a paused group could not be claimed again.
local function first_lease_end(t)
  -- Claims list jobs without a group only.
  local first = first_score(t.p .. 'claims')
  if call('EXISTS', t.p .. 'paused') == 0 then return math.min(first, first_score(t.p .. 'leases')) end
  local leases = call('ZRANGE', t.p .. 'leases', 0, -1, 'WITHSCORES')
  for index = 1, #leases, 2 do
    local j = stored(t, leases[index])
    if not (j and j.group_key and group_of(t, j.group_key).paused) then return math.min(first, tonumber(leases[index + 1])) end
  end
  return first
end
`
