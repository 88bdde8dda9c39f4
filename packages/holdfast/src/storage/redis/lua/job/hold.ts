// As holdGroup and releaseHold of rules/job/wait.ts: a failed job of an ordered group that was added with onFailure 'hold' holds its
// group. Redis expires its record by itself, so the hash `holds` names the groups by the ids of these jobs, and a sweep finds them.
// The type has their number.

import { orderedGroupCodes as kind } from '../../codec/codes.ts'

export const hold = `
local end_hold, begin_hold
do
  local function set_holds(t, holds)
    t.holds = holds
    if holds > 0 then call('HSET', t.p .. 'type', 'holds', holds) else call('HDEL', t.p .. 'type', 'holds') end
  end

  -- The failed job is revived, replaced or deleted, or its record is gone: it holds its group no longer.
  function end_hold(t, id)
    local key = t.holds > 0 and call('HGET', t.p .. 'holds', id)
    if not key then return end
    call('HDEL', t.p .. 'holds', id)
    set_holds(t, t.holds - 1)
    local g, others = group_of(t, key), {}
    for _, each in ipairs(g.held or {}) do if each ~= id then others[#others + 1] = each end end
    g.held, g.dirty = #others > 0 and others or nil, true
    refresh_group(g)
  end

  -- The job has failed. An earlier life of its id may have failed too.
  function begin_hold(j, is_kept)
    end_hold(j.t, j.id)
    if not is_kept or j.kind ~= ${kind.hold} then return end
    local g = group_of(j.t, j.group_key)
    call('HSET', j.t.p .. 'holds', j.id, g.key)
    set_holds(j.t, j.t.holds + 1)
    g.held, g.dirty = g.held or {}, true
    g.held[#g.held + 1] = j.id
  end
end
`
