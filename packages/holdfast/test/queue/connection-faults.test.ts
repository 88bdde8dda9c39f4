// The Queue with a faulty connection to its server, on each driver that has one.

import { after, describe } from 'node:test'
import { PostgresStorage } from 'holdfast/postgres'
import { RedisStorage } from 'holdfast/redis'
import { postgresPlace, stopPostgres } from '../postgres-subject.ts'
import { placeOf, stopPlaces } from '../redis-places.ts'
import { connectionFaultTests } from './connection-faults.ts'

after(stopPlaces)
after(stopPostgres)

const postgresUrl = (port: number): string => `postgres://postgres@127.0.0.1:${port}/postgres`

// Side by side: most of it is that something waits.
describe('the Queue', { concurrency: true }, () => {
  connectionFaultTests({
    name: 'redis',
    bytesPerByte: 1,
    listensElsewhere: false,
    port: async () => (await (await placeOf('redis')).serverOf('')).port,
    storage: (prefix, port) => new RedisStorage({ url: `redis://127.0.0.1:${port}`, prefix }),
  })
  connectionFaultTests({
    name: 'postgres',
    // In hexadecimal.
    bytesPerByte: 2,
    listensElsewhere: true,
    port: async () => (await postgresPlace()).server.port,
    storage: (schema, port, listenPort = port) =>
      new PostgresStorage({ url: postgresUrl(port), listenUrl: postgresUrl(listenPort), schema, poolSize: 3 }),
  })
})
