// As rules/cancel.ts: cancel a waiting job at once, and a running one as the options say.

import { outcomeCodes as outcome, stateCodes as state } from '../../rules/job/codes.ts'
import { cancelCodes } from '../codec/codes.ts'

/** ARGV: refs, chains, abort, force, reason. */
export const cancel = `
local refs, chains, abort_too, force, reason = unpack(cmsgpack.unpack(ARGV[1]))

-- A verdict that is a state has the number of the state.
local function cancel_one(j, after)
  if is_terminal(j.state) then return j.state end
  local runs = j.state == ${state.processing}
  if runs and not force then
    if not abort_too then return ${cancelCodes.processing} end
    j.cancelling = true
    j.cancel_reason = j.cancel_reason or reason or nil
    touch(j)
    abort(j)
    return ${cancelCodes.cancelling}
  end
  if runs then
    record_attempt(j, ${outcome.cancelled}, ${state.cancelled})
    abort(j)
  end
  j.cancel_reason = reason or nil
  finish(j, ${state.cancelled}, {}, after)
  return ${cancelCodes.cancelled}
end

local answers = {}
for index, ref in ipairs(refs) do
  local j = find_ref(ref)
  if not j or (chains and j.chain) then answers[index] = { ${cancelCodes.not_found} }
  else
    local after = { ended = {}, unblocked = {} }
    answers[index] = { cancel_one(chains and tail_of(j) or j, after), #after.ended > 0 and after.ended }
  end
end
flush()
send()
return pack({ now, answers })
`
