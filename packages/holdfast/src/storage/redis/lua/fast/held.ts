// The part of a claim whose jobs all come from entries of lots (move/held.ts): it reads the records, and writes none of them.

import { flags, queuedInLot } from '../../codec/record.ts'

/** Completes `orders` to what `claims:held` stores, and leaves the records in `granted`, behind the place of the answer's head. */
export const readHeld = `
      table.insert(orders, 1, label or false)
      table.insert(orders, 2, now)
      table.insert(orders, 3, till)
      local run, order, left = 4, orders[4], orders[5]
      granted = call('MGET', unpack(job_keys))
      for index = 1, #granted do
        local record = granted[index]
        if left == 0 then
          run = run + 2
          order, left = orders[run], orders[run + 1]
        end
        local flags, low, last, _ = 255
        if record then
          flags = byte(record, 1)
          low, _, _, _, _, last = byte(record, -6, -1)
        end
        -- As the add wrote it, with the order of its place.
        if flags > ${flags.later} or last ~= ${queuedInLot} or low ~= order % 256 then
          is_plain = false
          break
        end
        order, left = order + 1, left - 1
      end
      table.insert(granted, 1, '')
`
