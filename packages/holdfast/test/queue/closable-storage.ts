// A storage that can be closed, as all but memory: it answers only while its reference count is above 0.

import { HoldfastError, type Storage } from 'holdfast'
import { type Faulty, faulty } from './faulty-storage.ts'

export function closable(storage: Storage): Faulty {
  const line = faulty(storage)
  line.on('connect', (apply) => apply())
  line.on('disconnect', (apply) => apply())
  line.on('*', async (apply) => {
    if (line.connections > 0) return apply()
    throw new HoldfastError('STORAGE_CLOSED', 'the storage is closed')
  })
  return line
}
