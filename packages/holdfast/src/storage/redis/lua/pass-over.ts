// Which jobs a list by creation passes over before it reads records (scan.ts#window): by their instants, and by what few jobs have.

import { stateCodes as state } from '../../rules/job/codes.ts'
import { flags, queuedInLot } from '../codec/record.ts'

/** Needs what `window` has: with_created, since, till, only, is_wanted, ended. */
export const passOver = `
-- only: 1 only first jobs of their chains  2 only jobs of chains that no other chain began  3 only jobs of this chain, or false: type, id,
-- and the type as keys have it  4 the last bytes that records of the last jobs of chains may have, or false. Most jobs have no extras: each
-- is a chain of its own, which no other began, and its set has the wanted states. Of the others the extras are read.
local function is_other(p, name, id, key, flags)
  local first_only, root_only, wanted, ends_in = unpack(only)
  -- Longer chains are looked for, whose last jobs are elsewhere.
  local is_longer = ends_in and name == ended and not is_wanted[char(${state.completed})]
  local m = {}
  if flags % 4 >= ${flags.extras} then
    local record = call('GET', key)
    local at = unpack_one(record, flags % 2 == ${flags.later} and 18 or 10)
    at, m = unpack_one(record, at)
  elseif not wanted then return is_longer end
  local chain, root = m.c, m.ro
  if first_only and (m.i or 0) > 0 then return true end
  if root_only and root and (root[2] ~= (chain and chain[2] or id) or chain and root[1] ~= chain[1]) then return true end
  if is_longer and not m.j then return true end
  if ends_in and m.j then
    local last = m.j[#m.j]
    local ending = call('GETRANGE', type_of(last[1]).p .. 'job:' .. last[2], '-1', '-1')
    if ending ~= '' and ending ~= char(${queuedInLot}) and not is_wanted[ending] then return true end
  end
  if not wanted then return false end
  if chain then return chain[2] ~= wanted[2] or chain[1] ~= wanted[1] end
  return id ~= wanted[2] or p ~= base .. wanted[3] .. ':'
end

-- False: it is not wanted, or the member has it. -1: the job is gone. Nil: it is passed over.
local function created_at(segment, member, p, name, records)
  if not with_created or not segment[7] then return false end
  local id = sub(member, segment[7] + 1)
  local key = records .. id
  local bytes = call('GETRANGE', key, '0', '9')
  local created = #bytes == 10 and numbers_of('>I6', bytes, 5) or -1
  if created < since or created > till then return nil end
  if only and created >= 0 and is_other(p, name, id, key, byte(bytes)) then return nil end
  return created
end
`
