// As the files of these names in moves: the verbs for people and upkeep.

export const extendVerb = `
local answers = {}
for index, each in ipairs(cmsgpack.unpack(ARGV[1])) do
  local j = find_job(type_of(each[1]), each[2])
  if not j then answers[index] = { 4 }
  elseif j.state ~= PROCESSING or j.worker ~= each[3] or j.attempt ~= each[4] then
    if j.state == CANCELLED then answers[index] = { 5 }
    else answers[index] = { is_terminal(j.state) and 3 or 2 } end
  else
    j.until_at = now + each[5]
    touch(j)
    if j.cancelling then answers[index] = { 1, j.until_at, j.cancel_reason or false } else answers[index] = { 0, j.until_at } end
  end
end
flush()
return pack({ now, answers })
`

export const cancelVerb = `
local refs, chains, abort_too, force, reason = unpack(cmsgpack.unpack(ARGV[1]))

local function cancel(j, after)
  if is_terminal(j.state) then return j.state end
  local runs = j.state == PROCESSING
  if runs and not force then
    if not abort_too then return PROCESSING end
    j.cancelling = true
    j.cancel_reason = j.cancel_reason or reason or nil
    touch(j)
    abort(j)
    return -1
  end
  if runs then
    end_attempt(j, OUTCOMES.cancelled, CANCELLED)
    abort(j)
  end
  j.cancel_reason = reason or nil
  finish(j, CANCELLED, {}, after)
  return CANCELLED
end

local answers = {}
for index, ref in ipairs(refs) do
  local j = find_ref(ref)
  if not j or (chains and j.chain) then answers[index] = false
  else
    local after = { ended = {}, unblocked = {} }
    answers[index] = { cancel(chains and tail_of(j) or j, after), #after.ended > 0 and after.ended }
  end
end
flush()
send()
return pack({ now, answers })
`

export const reviveVerb = `
local refs, when = unpack(cmsgpack.unpack(ARGV[1]))
local REVIVED, MOVED, NOT_REVIVABLE, CONFLICT, NOT_FOUND = 0, 1, 2, 3, 4

local function revive(j, run_at)
  if is_waiting(j.state) then
    local failing = j.state == FAILING
    leave(j)
    go_behind(j, run_at)
    wait(j, failing)
    return MOVED
  end
  if not is_terminal(j.state) or j.state == COMPLETED then return NOT_REVIVABLE end
  for _, blocker in ipairs(j.blockers or {}) do
    if not blocker[3] and not find_ref(blocker) then return NOT_REVIVABLE end
  end
  local chain = chain_of(j)
  if not retake_key(chain) then return CONFLICT end
  chain.expires_at = nil
  touch(chain)
  -- The blockers count anew; one that has failed is waited for, since somebody asked for this.
  go_behind(j, run_at)
  j.failures, j.reason, j.error, j.finished_at, j.cancel_reason = 0, nil, nil, nil, nil
  j.worker, j.label, j.started_at, j.until_at = nil, nil, nil, nil
  set_state(j, BLOCKED)
  -- To its old place: groups keep the order of acceptance.
  if j.group_key then join_group(j) end
  if j.blockers then block_job(j, true) else unblock(j) end
  if j.group_key then refresh_group(group_of(j.t, j.group_key)) end
  return REVIVED
end

local answers = {}
for index, ref in ipairs(refs) do
  local j = find_ref(ref)
  answers[index] = j and revive(j, due_at(when)) or NOT_FOUND
end
flush()
send()
return pack({ now, answers })
`

export const removeVerb = `
local refs, trees, after_ms = unpack(cmsgpack.unpack(ARGV[1]))
local REMOVED, NOT_TERMINAL, NOT_FOUND, KEPT, NOT_ROOT, REFERENCED, UNTOUCHED = 0, 1, 2, 3, 4, 5, 6

local function remove_ended(chain)
  if not chain then return { NOT_FOUND } end
  if chain.chain then return { NOT_ROOT, chain.chain } end
  if not is_terminal(tail_of(chain).state) then return { NOT_TERMINAL } end
  if after_ms then
    chain.expires_at = now + after_ms
    touch(chain)
    return { KEPT, chain.expires_at }
  end
  if chain.deps > 0 then
    local by = {}
    for index, j in ipairs(dependents_of(chain)) do by[index] = ref_of(j) end
    return { REFERENCED, by }
  end
  forget(chain)
  return { REMOVED }
end

local function root_of(j) return j.root or j.chain or ref_of(j) end
local function is_under(j, root)
  local above = root_of(j)
  return above[1] == root.t.name and above[2] == root.id
end
local function is_root(j) return not j.chain and is_under(j, j) end

-- A chain, and all chains that were started to block one of its jobs.
local function add_tree(root, chains)
  local open = { root }
  while #open > 0 do
    local chain = table.remove(open)
    if not chains[chain] then
      chains[chain] = true
      chains[#chains + 1] = chain
      for _, j in ipairs(jobs_of(chain)) do
        for _, blocker in ipairs(j.blockers or {}) do
          local found = find_ref(blocker)
          if found and not found.chain and is_under(found, root) then open[#open + 1] = found end
        end
      end
    end
  end
end

-- Unfinished jobs outside that need a chain of this root's tree.
local function outsiders(root, chains)
  local found, seen = {}, {}
  for _, chain in ipairs(chains) do
    if is_under(chain, root) then
      for _, j in ipairs(dependents_of(chain)) do
        if not chains[chain_of(j)] and not seen[j] then
          seen[j] = true
          found[#found + 1] = ref_of(j)
        end
      end
    end
  end
  return found
end

local answers = {}
if not trees then
  for index, ref in ipairs(refs) do answers[index] = remove_ended(find_ref(ref)) end
else
  local chains, fine = {}, true
  for _, ref in ipairs(refs) do
    local root = find_ref(ref)
    if root and is_root(root) then add_tree(root, chains) end
  end
  for index, ref in ipairs(refs) do
    local root = find_ref(ref)
    if not root then answers[index] = { NOT_FOUND }
    elseif not is_root(root) then answers[index] = { NOT_ROOT, root_of(root) }
    else
      local by = outsiders(root, chains)
      answers[index] = #by > 0 and { REFERENCED, by } or { REMOVED }
    end
    if answers[index][1] ~= REMOVED then fine = false end
  end
  for index, answer in ipairs(answers) do
    if not fine and answer[1] == REMOVED then answers[index] = { UNTOUCHED } end
  end
  if fine then for _, chain in ipairs(chains) do forget(chain) end end
end
flush()
send()
return pack({ now, answers })
`

export const pauseVerb = `
local name, key, paused, by = unpack(cmsgpack.unpack(ARGV[1]))
local t = type_of(name)
-- Paused again: the first one's date and name stay.
if key then
  local g = group_of(t, key)
  if paused and not g.paused then
    g.paused = { now, by }
    call('HSET', t.p .. 'paused', key, pack(g.paused))
  elseif not paused then
    g.paused = nil
    call('HDEL', t.p .. 'paused', key)
  end
  refresh_group(g)
elseif paused then
  if not t.paused then call('HSET', t.p .. 'type', 'paused', pack({ now, by })) end
else
  call('HDEL', t.p .. 'type', 'paused')
  wake(t)
end
call('SADD', base .. ':types', name)
flush()
send()
return pack({ now })
`

// Redis lets records and keys expire by itself; what is left to do is to forget them in the lists of ends.
export const sweepVerb = `
local limit = tonumber(ARGV[1])
local swept, entries, more = 0, 0, false
for _, name in ipairs(call('SMEMBERS', base .. ':types')) do
  local t = type_of(name)
  for state = COMPLETED, CANCELLED do
    local set = t.p .. 'done:' .. state
    for _, id in ipairs(call('ZRANGEBYSCORE', set, '-inf', now, 'LIMIT', 0, math.max(0, limit - swept) + 1)) do
      if swept >= limit then
        more = true
        break
      end
      local j = stored(t, id)
      local chain = j and chain_of(j)
      if not j then
        call('ZREM', set, id)
        note(dones, t, id)
        swept = swept + 1
      elseif not chain then
        erase(j)
        swept = swept + 1
      elseif is_gone(j) then
        swept = swept + #jobs_of(chain)
        forget(chain)
      end
    end
    flush()
  end
  -- One that is watched stays, so that a later sweep finds what says so.
  local known = t.paused or t.watched or call('EXISTS', t.p .. 'paused', t.p .. 'blocked', t.p .. 'aside', t.p .. 'leases', t.p .. 'done:5', t.p .. 'done:6', t.p .. 'done:7') > 0
  for _, priority in ipairs(priorities(t)) do known = known or call('EXISTS', t.p .. 'line:' .. priority) == 1 end
  if not known then
    call('SREM', base .. ':types', name)
    call('DEL', t.p .. 'type')
  end
end
for _, key in ipairs(call('ZRANGEBYSCORE', base .. ':kvx', '-inf', now, 'LIMIT', 0, math.min(limit, 1000000) + 1)) do
  if entries >= limit then
    more = true
    break
  end
  call('ZREM', base .. ':kvx', key)
  call('ZREM', base .. ':kv', key)
  call('UNLINK', base .. ':kv:' .. key)
  entries = entries + 1
end
send()
return pack({ now, swept, entries, more })
`
