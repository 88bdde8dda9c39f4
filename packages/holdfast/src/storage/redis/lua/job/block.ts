// As rules/job/block.ts: which chains a job waits for, and what their states mean for it.

import { reasonCodes as reason, stateCodes as state } from '../../../rules/job/codes.ts'
import { blockerFailureCodes as failure } from '../../codec/codes.ts'

export const block = `
-- Chains that a call adds, by type, id and token: other jobs of the call may wait for them. first: where they begin.
local function siblings_of(list, first)
  local names = {}
  for index = first, #list do
    local new = list[index]
    local name = pack({ new.t.name, new.id, new.token })
    names[name] = names[name] or index
  end
  return names
end

-- The blockers that do not exist, by the token that they refuse. A blocker is a position, or type and id.
local function missing_blockers(list, first)
  local missing, any = {}, false
  local siblings
  for _, new in ipairs(list) do
    local existing = new.blockers and stored(new.t, new.id)
    -- A job that exists with this token is a repeat: its blockers were checked by the first call.
    if new.blockers and not (existing and existing.token == new.token) then
      for _, blocker in ipairs(new.blockers) do
        if type(blocker) == 'table' then
          siblings = siblings or siblings_of(list, first or 1)
          local at = siblings[pack({ blocker[1], blocker[2], new.token })]
          local chain = find_chain(blocker)
          if at and list[at] ~= new then
            -- The same call adds it.
          elseif chain then
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

-- Counts the open blockers of a job. Lets it wait for them, unblocks it, or fails it with a failed blocker.
local function block_job(j, waits)
  local failed, open, counted = false, 0, {}
  for _, blocker in ipairs(j.blockers) do
    local chain = find_chain(blocker)
    local state = chain and tail_of(chain).state
    -- No record: it had completed before, or was the holder of a key whose window outlived the record.
    blocker[3] = not chain or state == ${state.completed} or (waits == ${failure.run} and is_terminal(state))
    if chain then
      add_dependent(chain, j)
      if state == ${state.failed} or state == ${state.cancelled} then failed = true end
      if not blocker[3] and not counted[chain] then
        counted[chain] = true
        open = open + 1
      end
    end
  end
  j.open = open
  touch(j)
  if failed and not waits then finish(j, ${state.failed}, { reason = ${reason.blocker_failed} }, { ended = {}, unblocked = {} })
  elseif open == 0 then unblock(j) end
end
`
