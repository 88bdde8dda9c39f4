// As rules/add.ts: decide ids, keys and blockers, then write the jobs in the order given.

import { stateCodes as state } from '../../rules/job/codes.ts'
import { addCodes, blockerFailureCodes as failure, duplicateCodes, modeCodes as mode } from '../codec/codes.ts'
import { keys } from './add/keys.ts'
import { places } from './move/jobs.ts'

/** Also for the jobs that a settle adds. */
export const addRules = `
-- To define the functions takes time, and few outcomes add jobs.
local is_free, new_jobs, add_batch
if may_add then
  -- True if a job of this id may be added: there is none, or its chain failed or was cancelled.
  function is_free(j)
    if not j or is_gone(j) then return true end
    local chain = chain_of(j)
    local tail = tail_of(chain)
    if tail.state ~= ${state.failed} and tail.state ~= ${state.cancelled} then return false end
    -- Dependents of a chain go on waiting for a chain of its name, so its tail alone cannot be replaced under them.
    return j == chain or (j == tail and chain.deps == 0)
  end

  -- True if the new job takes the place of a waiting one. A job that is part of a longer chain cannot be replaced.
  local function is_replaced(new, j)
    return new.replaces and is_waiting(j.state) and not j.chain and tail_of(j) == j
  end

  local function create(new, run_at, after, origin)
    local number = take_number()
    local j = {
      t = new.t, id = new.id, key = new.t.p .. 'job:' .. new.id, fresh = true,
      body = new.body, large = new.large,
      state = ${state.blocked}, attempt = 0, failures = 0, run_at = run_at, order = number, accepted = number, created_at = now,
      place = ${places.nowhere}, snoozes = 0, index = after and after.index + 1 or 0, open = 0, deps = 0, by_holder = false,
      chain = after and ref_of(chain_of(after)) or nil, deadline = new.expires and now + new.expires or nil,
    }
    decode_body(j, new.fields)
    local above = after or origin
    if above then
      j.origin = ref_of(above)
      local first = chain_of(above)
      j.root = above.root or (first and ref_of(first) or above.chain)
    end
    jobs[j.key] = j
    touch(j)
    if j.t.waiting then j.t.waiting = j.t.waiting + 1 end
    register(j.t, j.priority)
    -- An earlier life of its id, whose record is gone, may hold its group.
    end_hold(j.t, j.id)
    if j.group_key then join_group(j) end
    return j
  end

  -- The jobs of a call, a table each. names: the types; list: for each job the position of its type, id, when, body, extras.
  function new_jobs(names, list)
    local news = {}
    for at = 1, #list, 5 do
      local fields = cmsgpack.unpack(list[at + 3])
      local extras = list[at + 4] or {}
      news[#news + 1] = {
        t = type_of(names[list[at]]), id = list[at + 1], when = list[at + 2], body = list[at + 3], fields = fields,
        token = fields[1], blockers = extras.b, key = extras.k, large = extras.p, expires = extras.x, replaces = extras.r,
        most = extras.w, group_key = fields[7] or nil, kind = fields[12] or false,
      }
    end
    return news
  end

${keys}  local function ref_of_blocker(news, blocker)
    if type(blocker) == 'table' then return { blocker[1], blocker[2], false } end
    local new = news[blocker + 1]
    return { new.t.name, new.id, false }
  end

  -- The answer to the repeat of an add whose job is gone.
  local function repeat_of_gone(new)
    return { ${addCodes.added}, new.t.name, new.id, new.token, ${state.completed}, false }
  end

  -- The verdict of a job that is not created: a duplicate, or a repeat of an earlier call. Nil if it is to be created.
  local function standing_verdict(new, repeated, predecessor, state)
    local existing = stored(new.t, new.id)
    -- The token tells a repeat even if the job has ended or expired since. But an id that one call names twice is taken by
    -- its first mention.
    if existing and existing.token == new.token then
      if existing.fresh or state.repeated[existing] then
        return { ${addCodes.duplicate}, ${duplicateCodes.id}, standing_of(existing) }
      end
      state.repeated[existing] = true
      return { ${addCodes.added}, standing_of(existing) }
    end
    local replaced
    if not is_free(existing) then
      if not is_replaced(new, existing) then return { ${addCodes.duplicate}, ${duplicateCodes.id}, standing_of(existing) } end
      replaced = existing
    end
    -- A continuation has the key of its chain.
    local mark = not predecessor and new.key and mark_of(new.t, new.key[1]) or nil
    if mark and new.key[2] == ${mode.ascending} and mark[4] == ${mode.ascending} then
      if not is_remembered(mark) or mark[8] < new.key[5] then return repeated and repeat_of_gone(new) or nil end
      local own = mark[3] == new.token and mark[2] == new.id
      return own and repeat_of_gone(new) or { ${addCodes.stale}, mark[8] }
    end
    if mark and not is_in_force(new.t, mark) then mark = nil end
    -- The replaced job frees its key.
    if mark and replaced and not mark[5] and mark[2] == replaced.id and mark[3] == replaced.token then mark = nil end
    local own = mark and mark[3] == new.token and (mark[5] or mark[2] == new.id)
    if mark and not own then return held_key_verdict(new, mark, state) end
    return (repeated or (mark and not state.taken[mark])) and repeat_of_gone(new) or nil
  end

  local function create_one(news, new, predecessor, origin, state)
    local followed = not predecessor and followed_holder(new)
    local replaced = stored(new.t, new.id)
    local deps = replaced and not replaced.chain and replaced.deps or 0
    if replaced then
      local chain = not is_expired_part(replaced) and chain_of(replaced)
      if chain then forget(chain) else erase(replaced) end
    end
    local debounced = not predecessor and new.key and new.key[2] == ${mode.debounce}
    local j = create(new, debounced and debounced_at(new.key, now) or due_at(new.when), predecessor, origin)
    if followed then
      j.blockers, j.waits = { { followed.t.name, followed.id, false } }, ${failure.run}
      encode_body(j)
    elseif new.blockers then
      j.blockers = {}
      for index, blocker in ipairs(new.blockers) do j.blockers[index] = ref_of_blocker(news, blocker) end
    end
    -- The dependents of the replaced chain wait for the new one.
    j.deps = deps
    if predecessor then
      local chain = chain_of(predecessor)
      chain.jobs = chain.jobs or { ref_of(chain) }
      -- Those that have expired are no longer listed, so that a chain without an end stays bounded.
      local function is_over(j) return not is_part(j, chain) or is_expired_part(j) end
      while #chain.jobs > 2 and is_over(stored_ref(chain.jobs[2])) do table.remove(chain.jobs, 2) end
      chain.jobs[#chain.jobs + 1] = ref_of(j)
      touch(chain)
    elseif new.key then
      take_key(j, new.key, state.taken)
    end
    if j.blockers then
      kept[j] = true
    else
      wait(j)
      tell_waiting(j)
    end
    return j
  end

  -- A blocker of this batch that was not added, because a job has its id or key, stands for the existing chain.
  local function resolve_duplicates(j, new, siblings, verdicts)
    if not new.blockers then return end
    local refs = {}
    for index, blocker in ipairs(new.blockers) do
      local at = type(blocker) == 'number' and blocker + 1 or siblings[pack({ blocker[1], blocker[2], new.token })]
      local verdict = at and verdicts[at]
      local code = verdict and verdict[1]
      -- Where the ref of the job that stands begins.
      local from = code == ${addCodes.duplicate} and 3 or code == ${addCodes.replaced} and 2
      if from then
        local found = find_ref({ verdict[from], verdict[from + 1] })
        local chain = found and chain_of(found)
        refs[#refs + 1] = chain and { chain.t.name, chain.id, false } or { verdict[from], verdict[from + 1], false }
      elseif code ~= ${addCodes.stale} then
        refs[#refs + 1] = j.blockers[index]
      end
    end
    j.blockers = refs
  end

  -- missing: from missing_blockers. predecessor: the job that the first one continues.
  function add_batch(news, missing, predecessor)
    local verdicts, created, blocks, batches, refusals, alone = {}, {}, {}, refusable(news), {}, {}
    local state = { taken = {}, repeated = {}, replaced = {} }
    for index, new in ipairs(news) do
      for _, blocker in ipairs(new.blockers or {}) do
        if type(blocker) == 'number' then put(blocks, blocker + 1, index) end
      end
    end
    for index, new in ipairs(news) do
      local lacking = missing and missing[new.token]
      local batch = batches and batches[new.token]
      -- A token of several jobs is decided before the first of them is added, a job alone once it is no duplicate.
      if not lacking and batch and refusals[batch] == nil then
        -- A repeat may add a job that was a duplicate before. That one is decided alone.
        alone[batch] = #batch == 1 or is_repeat(batch)
        refusals[batch] = not alone[batch] and refusal_in(batch) or false
      end
      local refused = lacking and { ${addCodes.blocker_not_found}, lacking[1], lacking[2] } or batch and refusals[batch]
      -- Of a blocker by position. origin: the job it is started for. none: all its dependents are duplicates.
      -- repeated: its dependent was added by an earlier call.
      local origin, repeated, none
      if blocks[index] then
        none = true
        for _, position in ipairs(blocks[index]) do
          origin = origin or created[position]
          if created[position] or verdicts[position][1] == ${addCodes.added} then none = false end
        end
        repeated = not origin and not none
      end
      if refused then
        verdicts[index] = refused
      elseif none then
        verdicts[index] = { ${addCodes.skipped} }
      else
        local before = index == 1 and predecessor or nil
        verdicts[index] = standing_verdict(new, repeated, before, state) or batch and not before and alone[batch] and refusal_of(new) or nil
        if not verdicts[index] then
          local existing = stored(new.t, new.id)
          local code = existing and is_waiting(existing.state) and ${addCodes.replaced} or ${addCodes.added}
          created[index] = create_one(news, new, before, origin, state)
          verdicts[index] = { code, standing_of(created[index]) }
        end
      end
    end
    -- Blockers by position come after the job they block: from the end, each finds its own decided.
    local siblings
    for index = #news, 1, -1 do
      local j = created[index]
      if j and j.blockers then
        siblings = siblings or siblings_of(news, 1)
        resolve_duplicates(j, news[index], siblings, verdicts)
        block_job(j, j.waits)
      end
    end
    -- A job that failed with its blocker may have failed its dependents too.
    for index = 1, #news do
      local j = created[index]
      if j and j.blockers then verdicts[index] = { verdicts[index][1], standing_of(j) } end
    end
    return verdicts
  end
end
`

/** After fastAdd, which has read the arguments. */
export const add = `
if type(names[1]) == 'string' then
  local all = {}
  for at = 1, #list, 3 do
    local from = 5 * (at - 1) / 3
    all[from + 1], all[from + 2], all[from + 3], all[from + 4], all[from + 5] = 1, list[at], list[at + 1], list[at + 2], false
  end
  names, list = { names[1] }, all
else
  names = names[1]
end
local news = new_jobs(names, list)
local verdicts = add_batch(news, missing_blockers(news))
flush()
send()
return pack({ now, verdicts })
`
