// Adds jobs one by one, while a sync fails, and says what it was told: see failed-sync.ts.

import { mkdirSync } from 'node:fs'
import { isHoldfastError, Queue } from 'holdfast'
import { driverNamed } from '../../drivers.ts'

const { driver, folder, jobs } = JSON.parse(process.argv[2]!) as { driver: string; folder: string; jobs: number }
mkdirSync(folder, { recursive: true })
const storage = await driverNamed(driver).open(folder)
await storage.connect()
const queue = new Queue<string>({ storage, name: 'matrix' })
queue.on('error', () => {})
const acked: string[] = []
const refused: object[] = []
for (let number = 0; number < jobs; number++) {
  const id = `s${number}`
  try {
    await queue.enqueue(id, 'x'.repeat(500))
    acked.push(id)
  } catch (error) {
    refused.push({ id, code: isHoldfastError(error) ? error.code : String(error) })
  }
}
console.log(JSON.stringify({ acked, refused }))
process.exit(0)
