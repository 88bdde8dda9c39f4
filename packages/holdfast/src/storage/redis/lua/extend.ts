// As rules/extend.ts: extend the leases whose fence still matches, whether or not they had run out.

import { stateCodes as state } from '../../rules/job/codes.ts'
import { leaseCodes } from '../codec/codes.ts'

/** ARGV: for each lease type, id, worker, attempt, leaseMs, and its report or false (job/report.ts). */
export const extend = `
local answers = {}
for index, each in ipairs(cmsgpack.unpack(ARGV[1])) do
  local j = find_job(type_of(each[1]), each[2])
  if not j or j.state ~= ${state.processing} or j.worker ~= each[3] or j.attempt ~= each[4] then
    answers[index] = { ${leaseCodes.refused}, refusal_of(j) }
  else
    j.until_at = now + each[5]
    touch(j)
    if each[6] then keep_report(j, each[6]) end
    if j.cancelling then answers[index] = { ${leaseCodes.cancelling}, j.until_at, j.cancel_reason or false }
    else answers[index] = { ${leaseCodes.extended}, j.until_at } end
  end
end
flush()
return pack({ now, answers })
`
