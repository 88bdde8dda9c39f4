// Limits as codec/limits.ts packs them: 1 concurrency  2 rate  3 fair  4 limits of every group  5 limits by group: key, limits, …
// Limits of a group: 1 limit  2 rate. A rate: 1 limit  2 perMs. Absent ones are false.

export const limits = `
-- Limits as a table, with those of groups by their keys.
local function read_limits(list)
  local by_key, each = {}, list[5] or {}
  for at = 1, #each, 2 do by_key[each[at]] = each[at + 1] end
  return { concurrency = list[1] or nil, rate = list[2] or nil, fair = list[3], group = list[4] or {}, by_key = by_key }
end
local function group_limits(limits, key) return limits.by_key[key] or limits.group end
`
