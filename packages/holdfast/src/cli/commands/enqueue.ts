import { suggestion } from '../../option-suggestions.ts'
import { Queue } from '../../queue/queue.ts'
import { faces, parseType } from '../../storage/stored-type.ts'
import { command, type Context } from '../command.ts'
import type { ConfiguredWorker } from '../config.ts'
import { shortened, UsageError } from '../usage-error.ts'

export const enqueue = command({
  name: 'enqueue',
  summary: 'add a job to a queue',
  details: [
    'The payload is JSON. If the configuration has a queue of this name, its options apply; else the defaults do.',
    'Chains and tasks are started by code, which knows their types.',
  ],
  arguments: [
    { name: 'queue', summary: 'name of the queue' },
    { name: 'payload', summary: 'JSON, or - to read it from the standard input; default: no payload', optional: true },
  ],
  options: {
    id: { kind: 'text', placeholder: 'id', summary: 'id of the job; default: a new UUID' },
    delay: { kind: 'duration', summary: 'time until it is due' },
    'run-at': { kind: 'instant', summary: 'when it is due' },
    priority: { kind: 'integer', summary: '-100 … 100, a higher one runs first; default: 0' },
    group: { kind: 'text', placeholder: 'key', summary: 'group of the job' },
    'max-attempts': { kind: 'integer', summary: 'most runs, the first included' },
    'on-duplicate': { kind: 'text', values: ['return', 'replace', 'reject'], summary: 'if there is a job with the id' },
  },
  createsStorage: true,
  examples: [
    {
      line: `holdfast enqueue mail '{"to":"ada@example.com"}' --id m9 --url sqlite:./jobs.db`,
      does: 'a job that is due now',
    },
    { line: 'holdfast enqueue report --delay 2h', does: 'one without payload, in two hours' },
    { line: 'cat big.json | holdfast enqueue import -', does: 'a payload from the standard input' },
  ],
  async run(context) {
    const { args, options, out, host } = context
    const payload = await payloadOf(args.payload, host)
    const queue = await queueOf(context)
    const id = options.id ?? host.clock.newId()
    const meant = out.isJson ? undefined : await similarQueue(context, queue.name)
    try {
      const result = await queue.enqueue(id, payload, {
        delayMs: options.delay,
        runAt: options['run-at'],
        priority: options.priority,
        group: options.group,
        maxAttempts: options['max-attempts'],
        onDuplicate: options['on-duplicate'],
      })
      if (out.isJson) out.json({ queue: queue.name, id, ...result })
      else out.line(`${result.status}  queue.${queue.name} ${'id' in result ? result.id : id}`)
      if (meant !== undefined) out.note(`The queue '${queue.name}' is new. If you meant '${meant}', cancel this job.`)
      return 0
    } finally {
      await queue.stop()
    }
  },
})

type AnyQueue = Queue<unknown, unknown>

/** That of the configuration, which knows its serde and its search fields; else one with the defaults. */
async function queueOf({
  args,
  options,
  config,
  storage,
}: Context<readonly [{ readonly name: 'queue'; readonly summary: string }]>): Promise<AnyQueue> {
  const { face, name } = parseType(args.queue)
  if ((faces as readonly string[]).includes(face) && face !== 'queue') {
    throw new UsageError(`jobs of the face '${face}' are added by code only.`)
  }
  const queueName = face === 'queue' ? name : args.queue
  const configured = options.url === undefined ? ((await config())?.workers ?? []).find(isQueue(queueName)) : undefined
  return configured ?? new Queue<unknown, unknown>({ storage: await storage(), name: queueName })
}

/** The queue with a similar name, if the storage knows none of this name: a misspelt one would wait for a worker for ever. */
async function similarQueue({ admin }: Pick<Context, 'admin'>, name: string): Promise<string | undefined> {
  const names = (await (await admin()).types()).filter(({ face }) => face === 'queue').map((type) => type.name)
  return names.includes(name) ? undefined : suggestion(name.slice(0, 64), names)
}

const isQueue =
  (name: string) =>
  (worker: ConfiguredWorker): worker is AnyQueue =>
    worker instanceof Queue && worker.name === name

async function payloadOf(text: string | undefined, host: Context['host']): Promise<unknown> {
  if (text === undefined) return undefined
  const json = text === '-' ? await host.readInput() : text
  try {
    return JSON.parse(json) as unknown
  } catch (error) {
    const hint = text === '-' ? '' : ` Quote it for the shell, as in '{"to":"ada"}' or '"text"'.`
    throw new UsageError(`<payload>: expected JSON, got '${shortened(json)}': ${(error as Error).message}.${hint}`)
  }
}
