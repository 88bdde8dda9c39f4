// As rules/job/key.ts: deduplication keys, their holders, and when a key is free again.
//
// A mark: 1 key  2 id and  3 token of its holder  4 mode  5 shared  6 end of the window, or false

import { stateCodes as state } from '../../../rules/job/codes.ts'
import { modeCodes as mode } from '../../codec/codes.ts'

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
  if mark[6] then return now < mark[6] end
  local j = job_of_mark(t, mark)
  return j ~= nil and not is_gone(j)
end
local function hold_key(t, mark)
  local name = t.p .. 'key:' .. mark[1]
  marks[name] = mark
  local till = mark[4] == ${mode.throttle} and mark[6] and time_text(mark[6])
  if till then
    if mark[6] > now then call('SET', name, pack(mark), 'PXAT', till) else call('DEL', name) end
  else
    call('SET', name, pack(mark))
  end
end
local function drop_key(t, mark)
  local name = t.p .. 'key:' .. mark[1]
  if not is_same_mark(mark_of(t, mark[1]), mark) then return end
  marks[name] = false
  call('DEL', name)
end
-- A chain ended: its key is free, unless a throttle window keeps it.
local function free_key(chain, state)
  local mark = chain.mark
  if not mark or mark[5] then return end
  if mark[4] == ${mode.simple} or state ~= ${state.completed} then drop_key(chain.t, mark) end
end
-- A record is deleted. A throttle window outlives it; any other key goes with it.
local function forget_key(chain)
  local mark = chain.mark
  if mark and (mark[4] == ${mode.simple} or not mark[6]) then drop_key(chain.t, mark) end
end
-- A revived chain takes its key again. False if another job holds it by now.
local function retake_key(chain)
  local mark = chain.mark
  if not mark or mark[5] then return true end
  local holder = mark_of(chain.t, mark[1])
  if is_same_mark(holder, mark) then return true end
  if holder and is_in_force(chain.t, holder) then return false end
  if not mark[6] or mark[6] > now then hold_key(chain.t, mark) end
  return true
end
`
