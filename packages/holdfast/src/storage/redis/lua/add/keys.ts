// As rules/add.ts, for jobs with a deduplication key: who holds it, and what an add does then.

import { stateCodes as state } from '../../../rules/job/codes.ts'
import { addCodes, duplicateCodes, modeCodes as mode } from '../../codec/codes.ts'

/** Inside the block of lua/add.ts. */
export const keys = `
  -- key: 1 key  2 mode  3 how long it is held or known  4 shared  5 window of a debounced job, or version  6 its longest wait.
  -- taken: the marks that this call has set.
  local function take_key(j, key, taken)
    local held = mark_of(j.t, key[1])
    if key[4] and held and taken[held] then
      j.mark = held
      return
    end
    local version = key[2] == ${mode.ascending} and key[5] or false
    local mark = { key[1], j.id, j.token, key[2], key[4], key[3] and now + key[3] or false, false, version }
    hold_key(j.t, mark)
    taken[mark] = true
    j.mark = mark
  end

  -- A debounced job is due when its window is over, but not later than its longest wait after it was accepted.
  local function debounced_at(key, accepted_at)
    return math.max(now, math.min(now + key[5], accepted_at + (key[6] or INF)))
  end

  -- Replaces the payload of the job that holds a key, and remembers which add did.
  local function replace_payload(j, mark, new)
    forget_payload(j)
    j.payload, j.large = new.fields[5], new.large
    encode_body(j)
    touch(j)
    hold_again(j, mark, new.token)
    if mark[4] ~= ${mode.debounce} then return end
    local run_at = debounced_at(new.key, j.created_at)
    if is_waiting(j.state) then reschedule(j, run_at) else go_behind(j, run_at) end
  end

  -- The verdict of a job whose key another holds. Nil if it is to be created all the same.
  local function held_key_verdict(new, mark, state)
    local holder = job_of_mark(new.t, mark)
    if holder and is_gone(holder) then holder = nil end
    -- An earlier add of this call may have replaced the payload under the same token: then this is no repeat.
    local is_repeat = holder and mark[7] == new.token and mark[4] == new.key[2] and not state.replaced[holder]
    local effect = (is_repeat or not holder) and 'refuse' or effect_on(holder, new.key[2], mark)
    if effect == 'add' or effect == 'after' then return nil end
    if effect == 'refuse' and not is_repeat then
      if holder then return { ${addCodes.duplicate}, ${duplicateCodes.key}, standing_of(holder) } end
      return { ${addCodes.duplicate}, ${duplicateCodes.key}, new.t.name, mark[2], mark[3], ${state.completed}, false }
    end
    if effect == 'replace' then
      replace_payload(holder, mark, new)
      state.replaced[holder] = true
    end
    return { ${addCodes.replaced}, standing_of(holder) }
  end

  -- The holder of its key that a job runs after, or nil.
  local function followed_holder(new)
    if not new.key or new.key[2] ~= ${mode.followUp} then return nil end
    local mark = mark_of(new.t, new.key[1])
    if not mark or not is_in_force(new.t, mark) or (mark[2] == new.id and mark[3] == new.token) then return nil end
    local holder = job_of_mark(new.t, mark)
    return holder and effect_on(holder, new.key[2], mark) == 'after' and holder or nil
  end
`
