// A storage of each driver for a scenario: in a directory, or on a server of its own.

import { type Storage, MemoryStorage } from 'holdfast'
import { driverNamed } from '../drivers.ts'
import type { Service } from '../service.ts'
import type { MatrixDriver } from './faults.ts'

export interface Place {
  open(): Promise<Storage>
  readonly service: Service | undefined
  /** For another process or thread. */
  readonly url: string | undefined
  stop(): Promise<void>
}

export async function openPlace(driver: MatrixDriver, directory: string): Promise<Place> {
  if (driver === 'memory') {
    return { open: async () => new MemoryStorage(), service: undefined, url: undefined, stop: async () => {} }
  }
  const { open, serve } = driverNamed(driver)
  const service = await serve?.([])
  return {
    open: () => open(directory, service?.url),
    service,
    url: service?.url,
    stop: async () => service?.stop(`${directory}/server`),
  }
}
