// nextDueAt: the earliest instant at which a claim of these types could yield a job.

/** After fastNextDueAt, which has read the arguments, and claim/first-lease.ts. */
export const nextDueAt = `
-- As dueByLimits of rules/limits.ts. limits: as in claim/limits.ts.
local function due_at(t, limits)
  local at = first_lease_end(t)
  if not (limits[1] and claims.leased(t.p) >= limits[1]) then
    at = math.min(at, first_score(t.p .. 'lots'))
    for _, priority in ipairs(priorities(t)) do at = math.min(at, first_score(t.p .. 'ready:' .. priority)) end
    if t.flow then at = math.min(at, first_score(t.p .. 'ring')) end
  end
  if not t.flow then return at end
  return math.max(at, t.flow.slowed or 0, limits[2] and frees_at(t.flow, limits[2], t.flow.next_weight or 1) or 0)
end

local at = INF
for index = 1, #wanted, 3 do
  local t = type_of(wanted[index])
  if not t.paused then at = math.min(at, due_at(t, wanted[index + 2] or {})) end
end
return pack({ now, at ~= INF and math.max(at, now) })
`
