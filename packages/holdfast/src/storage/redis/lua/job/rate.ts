// As rules/job/rate.ts: the use of a rate, in buckets. A bucket has the instants of its first and last start, and their weight; it counts
// whole until its last start has left the window. So no interval exceeds the limit, and there are about 21 buckets.
//
// f: the flow of a type, or a group, or nil. rate: 1 limit  2 perMs.

import { bucketsPerWindow } from '../../../rules/job/rate.ts'

export const rate = `
-- The weight that was started in the window that ends now.
local function used_of(f, rate)
  local used, list = 0, f and f.buckets or {}
  for at = 1, #list, 3 do
    if list[at + 1] + rate[2] > now then used = used + list[at + 2] end
  end
  return used
end
-- The first instant at which a start of this weight is possible. A job that is heavier than the limit takes all of it.
local function frees_at(f, rate, weight)
  local over, till = used_of(f, rate) + math.min(weight, rate[1]) - rate[1], now
  local list = f and f.buckets or {}
  for at = 1, #list, 3 do
    if over <= 0 then break end
    -- After a step back of the clock, a later bucket may leave first.
    if list[at + 1] + rate[2] > now then till, over = math.max(till, list[at + 1] + rate[2]), over - list[at + 2] end
  end
  return till
end
-- Counts a start. The caller writes the flow or group.
local function count_start(f, rate, weight)
  local list, kept = f.buckets or {}, {}
  for at = 1, #list, 3 do
    if list[at + 1] + rate[2] > now then
      for index = at, at + 2 do kept[#kept + 1] = list[index] end
    end
  end
  local size, cost = #kept, math.min(weight, rate[1])
  if size > 0 and now - kept[size - 2] < rate[2] / ${bucketsPerWindow} then
    kept[size - 1], kept[size] = math.max(kept[size - 1], now), kept[size] + cost
  else
    kept[size + 1], kept[size + 2], kept[size + 3] = now, now, cost
  end
  f.buckets, f.rate_until = kept, kept[#kept - 1] + rate[2]
end
`
