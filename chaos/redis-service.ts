// Redis with `appendfsync always`.

import { startRedis } from '../servers/redis.ts'
import { disturbRedis } from './redis-sessions.ts'
import { type Service, serviceOn } from './service.ts'

export async function serveRedis(slots: readonly string[]): Promise<Service> {
  const server = await startRedis({ appendonly: 'always' })
  return serviceOn(
    server,
    {
      killSignal: 'SIGKILL',
      kept: server.directory,
      pids: () => [server.pid],
      disturb: (drawn) => disturbRedis(server, drawn),
    },
    slots,
  )
}
