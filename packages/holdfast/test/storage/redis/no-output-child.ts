// A process that loses its Redis server in several ways and closes. It must exit by itself, and print only 'done'.

import { startRedis } from '../../../../../servers/redis.ts'
import { Connection } from '../../../src/storage/redis/connection/connection.ts'
import { resolveRedisOptions } from '../../../src/storage/redis/redis-options.ts'
import { eventually, libraries, write } from './connection-fixture.ts'

const [, , library, way] = process.argv
const { load } = libraries.find(({ name }) => name === library)!
const Client = await load()

const server = await startRedis()
// The library's timer for a socket that is already closed would delay the exit by 2 s.
const client = way === 'given' ? new Client(server.url, { disconnectTimeout: 100 }) : undefined
const redis = new Connection(resolveRedisOptions(client ? { client } : { url: server.url }), load)
await redis.open()
await redis.listen(
  ['{a}:messages'],
  () => {},
  () => {},
)
await redis.run(write, '{a}', ['1'])

const inspector = await server.connect()
await inspector.send('CLIENT', 'KILL', 'TYPE', 'pubsub')
await inspector.send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
await eventually(() => redis.run(write, '{a}', ['2']))
inspector.close()

server.kill('SIGKILL')
await server.exited
// It rejects, or the library resends it.
const lost = redis.run(write, '{a}', ['3']).catch(() => {})
await server.restart()
await eventually(() => redis.run(write, '{a}', ['4']))
await lost
server.kill('SIGKILL')
await server.exited
await redis.close()
client?.disconnect()
await server.stop()
process.stdout.write('done')
