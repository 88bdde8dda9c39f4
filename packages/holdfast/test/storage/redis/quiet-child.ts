// A process that loses its Redis server in every way and closes. It must end by itself, having printed nothing but 'done'.

import { startRedis } from '../../../../../servers/redis.ts'
import { Connection } from '../../../src/storage/redis/connection/connection.ts'
import { resolveRedisOptions } from '../../../src/storage/redis/redis-options.ts'
import { eventually, libraries, write } from './trial.ts'

const [, , library, way] = process.argv
const { load } = libraries.find(({ name }) => name === library)!
const Client = await load()

const server = await startRedis()
// The library's own timer for a socket that is already gone would hold it up for 2 s.
const client = way === 'given' ? new Client(server.url, { disconnectTimeout: 100 }) : undefined
const redis = new Connection(resolveRedisOptions(client ? { client } : { url: server.url }), load)
await redis.open()
await redis.listen(
  ['{a}:told'],
  () => {},
  () => {},
)
await redis.run(write, '{a}', ['1'])

const beside = await server.connect()
await beside.send('CLIENT', 'KILL', 'TYPE', 'pubsub')
await beside.send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
await eventually(() => redis.run(write, '{a}', ['2']))
beside.close()

server.kill('SIGKILL')
await server.exited
// Fails, or is sent again by a library that does so.
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
