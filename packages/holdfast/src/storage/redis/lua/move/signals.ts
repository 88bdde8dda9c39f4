// As rules/signals.ts: hints and events, collected during the call and published at its end.

export const signals = `
local wakes, dones, aborts, events = {}, {}, {}, {}
local function wake(t) wakes[t] = true end
local function done(j) put(dones, j.t, j.id) end
local function abort(j) put(aborts, j.t, j.id) end
local function event(j, code, attempt)
  if j.t.watched then put(events, j.t, { code, j.id, attempt, j.label or false }) end
end
-- A job of a full type leaves processing. A claim that fills the type again sends no hint.
local freed = {}
local function free_limit(t)
  t.flow.full, freed[t] = nil, true
  touch_flow(t)
end
local function send()
  for t in pairs(freed) do wakes[t] = true end
  for t in pairs(wakes) do call('PUBLISH', t.p .. 'wake', '') end
  for t, ids in pairs(dones) do call('PUBLISH', t.p .. 'done', pack(ids)) end
  for t, ids in pairs(aborts) do call('PUBLISH', t.p .. 'abort', pack(ids)) end
  for t, list in pairs(events) do call('PUBLISH', t.p .. 'events', pack({ now, list })) end
end
`
