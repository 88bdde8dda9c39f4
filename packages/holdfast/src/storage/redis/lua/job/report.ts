// As rules/job/report.ts: what running attempts report. It stands in two keys beside the record, which only says that they exist:
// a hash with `progress`, and `bytes` and `dropped` of the log; and the lines, the oldest first, as attempt (4 bytes), at (8, a
// double) and line. A line of the same attempt that is not later than the newest one is stored already. They expire, and are deleted, with the record (move/flush.ts).

import { logBytesKept, logLinesKept } from '../../../rules/job/codes.ts'

export const report = `
local keep_report
do
  local function drop_old_lines(values, lines, count, bytes)
    local dropped = 0
    while count > ${logLinesKept} or (bytes > ${logBytesKept} and count > 1) do
      bytes = bytes - (#call('LPOP', lines) - 12)
      count, dropped = count - 1, dropped + 1
    end
    call('HSET', values, 'bytes', bytes)
    if dropped > 0 then call('HINCRBY', values, 'dropped', dropped) end
  end

  -- Stores a report: progress or false, then at and line of each new line. The caller has checked the fence.
  function keep_report(j, report)
    local values, lines = report_keys(j)
    if report[1] then call('HSET', values, 'progress', report[1]) end
    local newest = #report > 1 and call('LINDEX', lines, -1)
    local attempt, newest_at
    if newest then attempt, newest_at = numbers_of('>I4d', newest) end
    local list, bytes = {}, 0
    for at = 2, #report, 2 do
      if attempt ~= j.attempt or report[at] > newest_at then
        list[#list + 1] = bytes_of('>I4d', j.attempt, report[at]) .. report[at + 1]
        bytes = bytes + #report[at + 1]
      end
    end
    if #list > 0 then
      call_many('RPUSH', lines, list)
      drop_old_lines(values, lines, call('LLEN', lines), (tonumber(call('HGET', values, 'bytes') or 0)) + bytes)
    end
    j.report = true
    touch(j)
  end
end
`
