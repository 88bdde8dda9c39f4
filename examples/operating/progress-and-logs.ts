// A handler reports how far it is, and logs lines. Any process can read both, while the job runs and after its end.

import { setTimeout as pause } from 'node:timers/promises'
import { MemoryStorage, Queue } from 'holdfast'

const queue = new Queue<string[], number>({ storage: new MemoryStorage(), name: 'import' })
const halfway = Promise.withResolvers<void>()
queue.execute(async (job) => {
  const rows = job.payload
  for (const [index, row] of rows.entries()) {
    job.progress({ done: index + 1, of: rows.length })
    job.log(`imported ${row}`, { row: index + 1 })
    if (index === 1) await halfway.promise // until the running job was looked at
  }
  return rows.length
})
await queue.start()
const result = queue.enqueueAndWait('import-1', ['ada', 'grace', 'edsger', 'barbara'])

// A report is stored within 250 ms, or with the end of the run. So a running job is read again until it is there.
let job = await queue.get('import-1')
while (job?.progress === undefined) {
  await pause(25)
  job = await queue.get('import-1')
}
console.log(job.state, job.progress)
halfway.resolve()
console.log(`${await result} rows`)

const log = await queue.logs('import-1', { after: 2 }) // the lines after the second
for (const { number, text, fields } of log!.lines) console.log(number, text, fields)
console.log((await queue.get('import-1'))?.progress)
await queue.stop()
