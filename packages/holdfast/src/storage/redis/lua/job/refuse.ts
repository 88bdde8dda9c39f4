// As rules/job/refuse.ts: refusals of an add by the depth of a queue or the kind of a group. They apply to all jobs of a token, or to
// none. A refusal is the verdict.

import { addCodes, depthCodes } from '../../codec/codes.ts'

/** Before the rules of an add: whether the call may add jobs, and whether one of them may be refused, as the client says. */
export const addsJobs = `
local may_add, may_refuse = true, type(names[1]) == 'table' and names[2]
`

/** Before the rules of a settle or claim: whether an outcome adds jobs. */
export const outcomesAddJobs = `
local may_add = false
for _, o in ipairs(outcomes or {}) do
  if type(o) == 'table' and o[11] then may_add = true end
end
local may_refuse = may_add
`

/** To define the functions takes time, and few calls need them. */
export const refuse = `
local is_repeat, refusal_in, refusal_of
if may_refuse then
  -- One of the jobs was added before under its token.
  local function is_known(new)
    local existing = find_job(new.t, new.id)
    return existing and existing.token == new.token
  end
  function is_repeat(batch)
    for _, new in ipairs(batch) do
      if is_known(new) then return true end
    end
    return false
  end

  -- Counted once per call; set_state() keeps it up to date.
  local function waiting_of(t)
    if not t.waiting then
      flush()
      local count = call('ZCARD', t.p .. 'aside') + call('ZCARD', t.p .. 'blocked') + lots.count(t.p)
      for _, priority in ipairs(priorities(t)) do count = count + call('ZCARD', t.p .. 'ready:' .. priority) end
      t.waiting = count
    end
    return t.waiting
  end

  -- leaving: members that leave the group first. kinds: of the groups of jobs that are added together.
  local function other_kind(new, leaving, kinds)
    if not new.group_key then return nil end
    local g, ordered = group_of(new.t, new.group_key), new.kind ~= false
    local kind = ordered
    if kinds[g] ~= nil then kind = kinds[g] end
    if g.ordered ~= nil and g.ordered ~= kind and call('ZCARD', g.members) > leaving then kind = g.ordered end
    kinds[g] = kind
    return kind ~= ordered and { ${addCodes.group_kind}, kind } or nil
  end

  -- of_type, of_group: the numbers of waiting jobs that the add brings.
  local function too_many(new, of_type, of_group)
    local most = new.most or {}
    if most[1] and waiting_of(new.t) + of_type > most[1] then
      return { ${addCodes.queue_full}, ${depthCodes.type}, waiting_of(new.t) }
    end
    if most[2] and new.group_key then
      local g = group_of(new.t, new.group_key)
      local waiting = call('ZCARD', g.members) - g.running
      if waiting + of_group > most[2] then return { ${addCodes.queue_full}, ${depthCodes.group}, waiting } end
    end
    return nil
  end

  -- The refusal of jobs that are added together, and its token. Each of them counts as if it were no duplicate: which ones are is only
  -- known when they are added. Jobs whose token is stored are a repeat, which is not refused.
  function refusal_in(news)
    local repeated, counts, kinds = {}, {}, {}
    for _, new in ipairs(news) do
      if is_known(new) then repeated[new.token] = true end
    end
    local function each(visit)
      for _, new in ipairs(news) do
        local found = not repeated[new.token] and visit(new, new.t, new.group_key and group_of(new.t, new.group_key))
        if found then return found, new.token end
      end
    end
    each(function(_, t, g)
      counts[t] = (counts[t] or 0) + 1
      if g then counts[g] = (counts[g] or 0) + 1 end
    end)
    local other, token = each(function(new) return other_kind(new, 0, kinds) end)
    if other then return other, token end
    return each(function(new, t, g) return too_many(new, counts[t], counts[g or t]) end)
  end

  -- The refusal of one job, which is no duplicate. It may take the place of a waiting one.
  function refusal_of(new)
    local replaced = stored(new.t, new.id)
    local freed = replaced and is_waiting(replaced.state)
    local in_group = freed and new.group_key and replaced.group_key == new.group_key
    return other_kind(new, in_group and 1 or 0, {}) or too_many(new, freed and 0 or 1, in_group and 0 or 1)
  end
end

-- The jobs of a call by their tokens. Nil: none of them may be refused.
local function refusable(news)
  local any, batches = false, {}
  if not may_refuse then return nil end
  for _, new in ipairs(news) do any = any or new.most ~= nil or new.group_key ~= nil end
  if not any then return nil end
  for _, new in ipairs(news) do put(batches, new.token, new) end
  return batches
end
`
