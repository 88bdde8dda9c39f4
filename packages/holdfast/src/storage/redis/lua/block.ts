// As moves/block.ts: which chains a job waits for, and what their state makes of it.

export const block = `
-- The external blockers that do not exist, by the token that they refuse. A blocker is a position, or type and id.
local function missing_blockers(list)
  local missing, any = {}, false
  for _, new in ipairs(list) do
    local existing = new.blockers and stored(new.t, new.id)
    -- What stands already is a repeat: it was decided when its blockers were there.
    if new.blockers and not (existing and existing.token == new.token) then
      for _, blocker in ipairs(new.blockers) do
        if type(blocker) == 'table' then
          local chain = find_ref(blocker)
          if chain and chain.index == 0 then
            kept[chain] = true
          else
            any = true
            missing[new.token] = missing[new.token] or blocker
          end
        end
      end
    end
  end
  return any and missing or nil
end

-- Counts what the job waits for, and lets it wait for that, or go on, or fail with it.
local function block_job(j, waits)
  local failed, open, counted = false, 0, {}
  for _, blocker in ipairs(j.blockers) do
    local chain = find_ref(blocker)
    local state = chain and tail_of(chain).state
    -- Gone: it had completed before, or stood for a key whose window outlived the record.
    blocker[3] = not chain or state == COMPLETED
    if chain then
      add_dependent(chain, j)
      if state == FAILED or state == CANCELLED then failed = true end
      if not blocker[3] and not counted[chain] then
        counted[chain] = true
        open = open + 1
      end
    end
  end
  j.open = open
  touch(j)
  if failed and not waits then finish(j, FAILED, { reason = 'blocker_failed' }, { ended = {}, unblocked = {} })
  elseif open == 0 then unblock(j) end
end
`
