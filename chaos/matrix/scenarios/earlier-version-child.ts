// A producer and worker of the sources in the given folder, this version's or earlier ones': see earlier-version.ts. It uses only what
// both have.

const { folder, name, driver, directory, url } = JSON.parse(process.argv[2]!) as Record<string, string>
const source = (path: string): Promise<Record<string, unknown>> =>
  import(`${folder}/packages/holdfast/src/${path}`) as Promise<Record<string, unknown>>
/** A dependency of the package's tests, not of the workspace. */
const library: string = 'iovalkey'
const say = (what: string, id: string): void => void process.stdout.write(`${JSON.stringify({ what, id })}\n`)
type Make = new (options: object) => any

const { Queue } = (await source('index.ts')) as { Queue: Make }
const queue = new Queue({
  storage: await storageOf(),
  name: 'mixed',
  workerId: name,
  concurrency: 5,
  leaseMs: 1_000,
  maxAttempts: 30,
})
queue.on('error', (error: Error) => say('error', error.message.slice(0, 300)))
queue.on('completed', (id: string) => say('completed', id))
queue.execute(async () => void (await new Promise((resolve) => setTimeout(resolve, 5))))
const quiet = new AbortController()
const over = Promise.withResolvers<void>()
process.stdin.on('data', () => quiet.abort()).on('end', over.resolve)
try {
  await queue.start()
} catch (error) {
  say('refused', (error as Error).message.slice(0, 300))
  process.exit(0)
}
say('ready', name!)
for (let number = 1; !quiet.signal.aborted; number++) {
  const id = `${name}-${number}`
  await queue.enqueue(id, { number }).then(
    () => say('acked', id),
    (error: Error) => say('error', error.message.slice(0, 300)),
  )
  await new Promise((resolve) => setTimeout(resolve, 20))
}
await over.promise
await queue.stop({ timeout: 3_000 }).catch((error: Error) => say('error', error.message))
process.exit(0)

async function storageOf(): Promise<unknown> {
  if (driver === 'sqlite') {
    const { SqliteStorage } = (await source('storage/sqlite/index.ts')) as { SqliteStorage: Make }
    return new SqliteStorage({ path: `${directory}/jobs.db` })
  }
  if (driver === 'file') {
    const { FileStorage } = (await source('storage/file/index.ts')) as { FileStorage: Make }
    return new FileStorage({ directory: `${directory}/jobs` })
  }
  if (driver === 'postgres') {
    const { PostgresStorage } = (await source('storage/postgres/index.ts')) as { PostgresStorage: Make }
    return new PostgresStorage({ url })
  }
  const { RedisStorage } = (await source('storage/redis/index.ts')) as { RedisStorage: Make }
  if (driver === 'redis') return new RedisStorage({ url })
  const { Cluster } = (await import(library)) as unknown as {
    Cluster: new (nodes: object[], options: object) => { on(name: string, listener: () => void): void }
  }
  const { ports } = JSON.parse(url!.slice('cluster:'.length)) as { ports: number[] }
  const client = new Cluster(
    ports.map((port) => ({ host: '127.0.0.1', port })),
    { lazyConnect: true },
  )
  client.on('error', () => {})
  return new RedisStorage({ client, prefix: 'holdfast', durability: 'replicated' })
}
