// The program whose writes are recorded: it adds jobs, runs some of them, and writes down what it was told.

import { openSync, writeSync } from 'node:fs'
import { Queue } from 'holdfast'
import { openPowered, type PowerChild } from './powered.ts'

const { driver, directory, notes, jobs, durability } = JSON.parse(process.argv[2]!) as PowerChild
const told = openSync(notes, 'a')
const tell = (line: string): void => void writeSync(told, `${line}\n`)

const { storage, stop } = await openPowered(driver, directory, durability)
const queue = new Queue<string, string>({ storage, name: 'power', concurrency: 2 })
queue.on('error', () => {})
queue.execute((job) => `result of ${job.payload}`)
await storage.connect()
tell('ready')
for (let number = 0; number < jobs; number++) {
  if (number === Math.floor(jobs / 2)) await queue.start()
  const id = `job-${number}`
  const payload = `payload ${number} ${'x'.repeat((number * 37) % 3_000)}`
  if (number % 3 === 2 && number > jobs / 2) {
    await queue.enqueueAndWait(id, payload)
    tell(`ended ${id}`)
  } else {
    await queue.enqueue(id, payload)
    tell(`added ${id}`)
  }
}
await queue.stop()
await storage.disconnect()
await stop()
