// The queue of the web servers in this folder.

import { setTimeout as pause } from 'node:timers/promises'
import { MemoryStorage, Queue } from 'holdfast'

export function newMailQueue(): Queue<{ to: string }> {
  const queue = new Queue<{ to: string }>({ storage: new MemoryStorage(), name: 'mail' })
  queue.execute(async (job) => {
    console.log(`${job.id} runs`)
    await pause(250) // the work
  })
  queue.on('completed', (id) => console.log(`${id} completed`))
  queue.on('stopped', () => console.log('the queue is stopped'))
  return queue
}
