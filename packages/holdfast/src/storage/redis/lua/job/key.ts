// As rules/job/key.ts: deduplication keys, their holders, and when a key is free again.
//
// A mark: 1 key  2 id and  3 token of its holder  4 mode  5 shared  6 end of the window, or false  7 token of the last add that
// replaced the payload of the holder, or false  8 the last version that was accepted, or false

import { stateCodes as state } from '../../../rules/job/codes.ts'
import { blockerFailureCodes as failure, modeCodes as mode } from '../../codec/codes.ts'

export const key = `
local marks = {}
local function mark_of(t, key)
  local name = t.p .. 'key:' .. key
  if marks[name] == nil then marks[name] = decode(call('GET', name)) or false end
  return marks[name] or nil
end
local function is_same_mark(a, b) return a and b and a[1] == b[1] and a[2] == b[2] and a[3] == b[3] end
-- The job that holds a mark, while its record exists.
local function job_of_mark(t, mark)
  local j = stored(t, mark[2])
  return j and j.token == mark[3] and not j.chain and j or nil
end
local function is_in_force(t, mark)
  if mark[6] and (now >= mark[6] or mark[4] ~= ${mode.ascending}) then return now < mark[6] end
  local j = job_of_mark(t, mark)
  if not j or is_gone(j) then return false end
  return mark[4] ~= ${mode.ascending} or not is_terminal(tail_of(j).state)
end
-- True if the last version of the key is still known.
local function is_remembered(mark) return mark[4] == ${mode.ascending} and (not mark[6] or now < mark[6]) end
local function hold_key(t, mark)
  local name = t.p .. 'key:' .. mark[1]
  marks[name] = mark
  local outlives = mark[4] == ${mode.throttle} or mark[4] == ${mode.ascending}
  local till = outlives and mark[6] and time_text(mark[6])
  if till then
    if mark[6] > now then call('SET', name, pack(mark), 'PXAT', till) else call('DEL', name) end
  else
    call('SET', name, pack(mark))
  end
end
-- The job holds the key of a mark that it had. replaced_by: token of the add that replaced its payload, or false.
local function hold_again(j, mark, replaced_by)
  j.mark = { mark[1], mark[2], mark[3], mark[4], mark[5], mark[6], replaced_by, mark[8] or false }
  touch(j)
  hold_key(j.t, j.mark)
end
-- The job that a follower waits for, if that is live: the key goes back to it, so that the next add follows it too.
local function followed_by(chain, mark)
  if mark[4] ~= ${mode.followUp} or not chain.blockers or #chain.blockers ~= 1 then return nil end
  local j = stored_ref(chain.blockers[1])
  if not j or not j.mark or j.mark[4] ~= ${mode.followUp} or j.mark[1] ~= mark[1] then return nil end
  return not is_gone(j) and not is_terminal(tail_of(j).state) and j or nil
end
local function drop_key(chain)
  local t, mark = chain.t, chain.mark
  local name = t.p .. 'key:' .. mark[1]
  if not is_same_mark(mark_of(t, mark[1]), mark) then return end
  local followed = followed_by(chain, mark)
  if followed then return hold_again(followed, followed.mark, false) end
  marks[name] = false
  call('DEL', name)
end
-- A chain ended: its key is free, unless a throttle window keeps it.
local function free_key(chain, state)
  local mark = chain.mark
  if not mark or mark[5] or mark[4] == ${mode.ascending} then return end
  if mark[4] ~= ${mode.throttle} or state ~= ${state.completed} then drop_key(chain) end
end
-- A record is deleted. A throttle window outlives it; any other key goes with it.
local function forget_key(chain)
  local mark = chain.mark
  if not mark or mark[4] == ${mode.ascending} then return end
  if mark[4] ~= ${mode.throttle} or not mark[6] then drop_key(chain) end
end
-- What an add with a key does that a job holds: refuse it, replace the payload of that job, add a job that runs after it, or
-- add a job that takes the key over.
local function effect_on(holder, mode, held)
  if mode ~= held[4] or (mode ~= ${mode.debounce} and mode ~= ${mode.followUp}) then return 'refuse' end
  local tail = tail_of(holder)
  local is_alone = tail == holder
  local waits = is_alone and (is_waiting(tail.state) or tail.state == ${state.blocked})
  if mode == ${mode.debounce} then return waits and 'replace' or 'add' end
  -- Only a follower is blocked and runs whatever its blocker ends in.
  if is_alone and tail.state == ${state.blocked} and tail.waits == ${failure.run} then return 'replace' end
  return waits and 'refuse' or 'after'
end
-- A revived chain takes its key again. False if another job holds it by now.
local function retake_key(chain)
  local mark = chain.mark
  if not mark or mark[5] or mark[4] == ${mode.ascending} then return true end
  local holder = mark_of(chain.t, mark[1])
  if is_same_mark(holder, mark) then return true end
  if holder and is_in_force(chain.t, holder) then return false end
  if not mark[6] or mark[6] > now then hold_again(chain, mark, false) end
  return true
end
`
