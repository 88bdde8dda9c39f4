// One run: processes on one storage, faults by the plan of the seed; then all is healed, runs to rest, and is stopped.
// Longer than other files, so that the course of a run can be read from its start to its end.

import type { Storage } from 'holdfast'
import type { Claim, Counts, JobState, Swept } from 'holdfast/storage'
import { type Random, randomOf } from '../../random.ts'
import type { Defect } from '../defects/defect.ts'
import type { Entry, History, RunEvent } from '../history/entries.ts'
import { isTerminal } from '../history/states.ts'
import { CallsOfNode } from './calls-of-node.ts'
import { type FaultRates, noRates, type Strike } from './faults.ts'
import { factsOf, storedTypesOf } from './kinds.ts'
import { linkTo } from './link.ts'
import { SimulatedNode } from './node.ts'
import { ProducerNode } from './producer-node.ts'
import { Server } from './server.ts'
import type { Setup } from './setup.ts'
import { Timeline } from './timeline.ts'
import { type SeenHere, WorkerNode } from './worker-node.ts'

/** Longest time to rest after the faults have ceased, in ms. */
const restMs = 300_000
/** Extra time of a wait, in ms: its last read, and a call that was under way. */
const slackMs = 6_000
/** Longest pause of a process between two tries, and what follows it, in ms. */
const longestPauseMs = 7_000

export class World {
  readonly timeline = new Timeline()
  readonly #entries: Entry[] = []
  readonly #setup: Setup
  readonly #defect: Defect | undefined
  readonly #server: Server
  readonly #workers: WorkerNode[] = []
  readonly #producers: ProducerNode[] = []
  readonly #random: Random
  readonly #network: Random
  #rates: FaultRates
  #healed = false
  #isOver = false
  #numbers = { node: 0, id: 0, payload: 0, call: 0 }
  /** Messages on their way. A new object once the faults have ceased: the old one counts those from before. */
  #messages = { count: 0 }
  /** Processes and types that they have claimed, since the faults ceased. */
  readonly #returned = new Set<string>()
  readonly #calls = new Map<SimulatedNode, CallsOfNode>()

  constructor(setup: Setup, defect?: Defect) {
    this.#setup = setup
    this.#defect = defect
    this.#rates = setup.faults.rates
    this.#random = randomOf(setup.seed, 'world')
    this.#network = randomOf(setup.seed, 'network')
    const { clock } = this.#newNode('server')
    this.#server = new Server(
      this.timeline,
      clock,
      setup.callTimeoutMs,
      (entry) => {
        this.#entries.push(entry)
        if (this.#healed && entry.what === 'claimVerdict') {
          for (const type of entry.types) this.#returned.add(`${entry.node} ${type}`)
        }
      },
      defect,
    )
  }

  get history(): History {
    const facts = this.#setup.kinds.flatMap((kind) => factsOf(kind, this.#setup))
    return {
      entries: this.#entries,
      types: new Map(facts.map((one) => [one.type, one])),
      slackMs,
      returnMs: this.#returnMs,
    }
  }

  get #returnMs(): number {
    return this.#setup.callTimeoutMs + longestPauseMs
  }

  async run(): Promise<void> {
    const onUnhandled = (error: unknown): void =>
      void this.#entries.push({ t: this.timeline.now, node: 'process', what: 'unhandled', message: String(error) })
    process.on('unhandledRejection', onUnhandled)
    try {
      await this.timeline.play(() => this.#script())
    } finally {
      process.off('unhandledRejection', onUnhandled)
    }
  }

  async #script(): Promise<void> {
    const setup = this.#setup
    this.#sweepNowAndThen()
    for (let index = 0; index < setup.workers; index++) this.#startWorker()
    for (let index = 0; index < setup.producers; index++) this.#startProducer()
    for (const { kind, at } of setup.faults.strikes) {
      this.timeline.after(at * setup.durationMs, () => void (this.#healed || this.#strike(kind)))
    }
    await this.timeline.sleep(setup.durationMs)
    await this.#heal()
    await this.#rest()
    await this.#probe()
    await this.#stopAll()
    await this.#finish()
  }

  /** The sweeps of workers come once a minute, which no run lasts. */
  #sweepNowAndThen(): void {
    this.timeline.after(700, () => {
      if (this.#isOver) return
      void this.#server.call('upkeep', 'sweep', [{ limit: 1_000 }])
      this.#sweepNowAndThen()
    })
  }

  // ── processes ──────────────────────────────────────────────────────────────────────────────────────────────────────

  #newNode(role: string): SimulatedNode {
    const number = this.#numbers.node++
    const random = randomOf(this.#setup.seed, `node ${number}`)
    return new SimulatedNode(`${role}-${number}`, { timeline: this.timeline, random, nextId: () => this.#nextId() })
  }

  #nextId(): string {
    return `00000000-0000-7000-8000-${(++this.#numbers.id).toString(16).padStart(12, '0')}`
  }

  #linkOf(node: SimulatedNode, onClaim?: (claim: Claim) => void): Storage {
    const { leaseMs, callTimeoutMs, claimsInFlight } = this.#setup
    const calls = new CallsOfNode()
    this.#calls.set(node, calls)
    const link = linkTo(node, {
      timeline: this.timeline,
      server: this.#server,
      random: this.#network,
      rates: () => this.#rates,
      leaseMs,
      callTimeoutMs,
      claimsInFlight,
      onSend: (verb, args) => {
        if (!calls.mayMake(verb, args)) this.#see(node)({ what: 'afterStop', verb })
      },
      onAnswer: (verb, _, answer) => {
        calls.answered(verb, answer)
        if (verb === 'claim') onClaim?.(answer as Claim)
      },
      onMessage: () => {
        const messages = this.#messages
        messages.count++
        return () => void messages.count--
      },
    })
    return this.#defect?.atProcess?.(link, node.name) ?? link
  }

  #see(node: SimulatedNode): (seen: SeenHere) => void {
    return (seen) => void this.#entries.push({ t: this.timeline.now, node: node.name, ...seen } as Entry)
  }

  #note(event: RunEvent): void {
    this.#entries.push({ t: this.timeline.now, ...event })
  }

  #startWorker(): void {
    const node = this.#newNode('worker')
    const worker: WorkerNode = new WorkerNode({
      setup: this.#setup,
      node,
      storage: this.#linkOf(node, ({ jobs }) => worker.claimed(jobs)),
      random: randomOf(this.#setup.seed, `handlers of ${node.name}`),
      leaseMs: this.#setup.leaseMs,
      isHealed: () => this.#healed,
      see: this.#see(node),
      nextPayload: () => `payload-${++this.#numbers.payload}`,
    })
    this.#workers.push(worker)
    worker.start().catch((error: unknown) => this.#see(node)({ what: 'unhandled', message: `start: ${String(error)}` }))
  }

  #startProducer(): void {
    const node = this.#newNode('producer')
    const producer = new ProducerNode({
      setup: this.#setup,
      node,
      storage: this.#linkOf(node),
      random: randomOf(this.#setup.seed, `calls of ${node.name}`),
      see: this.#see(node),
      nextPayload: () => `payload-${++this.#numbers.payload}`,
      nextCall: () => ++this.#numbers.call,
    })
    this.#producers.push(producer)
    producer.run().catch((error: unknown) => this.#see(node)({ what: 'unhandled', message: `run: ${String(error)}` }))
  }

  // ── faults ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  #strike(kind: Strike): void {
    const { leaseMs } = this.#setup
    const random = this.#random
    if (kind === 'serverDown') {
      this.#server.isDown = true
      this.timeline.after(random.between(10, 1.5 * leaseMs), () => (this.#server.isDown = false))
      return
    }
    if (kind === 'serverClock') {
      // Forward only: a clock that is set back brings expired records back, which the log would take for new ones.
      const byMs = random.integer(100, 2 * leaseMs)
      this.#note({ what: 'clockSet', from: this.#server.now, byMs })
      this.#server.offsetMs += byMs
      return
    }
    const nodes = [...this.#workers, ...(kind === 'restart' ? [] : this.#producers)].filter(({ node }) => !node.isDead)
    if (nodes.length === 0) return
    const struck = random.pick(nodes)
    const { node } = struck
    if (kind === 'nodeClock') node.offsetMs += random.between(-3_600_000, 3_600_000)
    else if (kind === 'pause') this.#pause(node, random.between(0.2, 5) * leaseMs)
    else if (kind === 'crash') this.#crash(node)
    else if (struck instanceof WorkerNode && !node.isPaused) void this.#restart(struck)
  }

  #pause(node: SimulatedNode, ms: number): void {
    if (node.isPaused || this.#calls.get(node)!.isStopped) return
    node.pause()
    this.#see(node)({ what: 'nodePaused' })
    this.timeline.after(ms, () => this.#resume(node))
  }

  #resume(node: SimulatedNode): void {
    if (!node.isPaused) return
    this.#see(node)({ what: 'nodeResumed' })
    node.resume(this.timeline)
  }

  #crash(node: SimulatedNode): void {
    const worker = this.#workers.findIndex((one) => one.node === node)
    node.kill()
    this.#see(node)({ what: 'nodeCrashed' })
    if (worker === -1) return
    this.#workers.splice(worker, 1)
    this.timeline.after(
      this.#random.between(10, 2 * this.#setup.leaseMs),
      () => void (this.#healed || this.#startWorker()),
    )
  }

  async #restart(worker: WorkerNode): Promise<void> {
    this.#workers.splice(this.#workers.indexOf(worker), 1)
    this.#startWorker()
    this.#see(worker.node)({ what: 'nodeStopping' })
    await worker.stop()
    await this.#watchStopped(worker.node)
  }

  /** The process stays for a while after its stop, in which it must be silent. */
  async #watchStopped(node: SimulatedNode): Promise<void> {
    if (node.isDead) return
    this.#calls.get(node)!.isStopped = true
    this.#see(node)({ what: 'nodeStopped' })
    await this.timeline.sleep(1_000)
    // A call that is never answered has a timer until its timeout. A client library would end it with the connection.
    if (node.unanswered > 0) await this.timeline.sleep(this.#setup.callTimeoutMs)
    if (node.isDead) return
    if (node.timers > 0) this.#see(node)({ what: 'afterStop', verb: `${node.timers} timers` })
    node.kill()
  }

  // ── the end ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Hints stay lost if none came before: polls alone must find the jobs then. */
  async #heal(): Promise<void> {
    this.#healed = true
    this.#rates = { ...noRates, hintLost: this.#rates.hintLost === 1 ? 1 : 0 }
    this.#server.isDown = false
    for (const { node } of [...this.#workers, ...this.#producers]) this.#resume(node)
    while (this.#workers.length < this.#setup.workers) this.#startWorker()
    await this.#resumeAll()
    this.#note({ what: 'healed' })
    const late = this.#messages
    this.#messages = { count: 0 }
    const until = this.timeline.now + 30_000
    const isUnderWay = (): boolean =>
      late.count > 0 || this.#producers.some(({ node, isDone }) => !node.isDead && !isDone)
    while (this.timeline.now < until && isUnderWay()) await this.timeline.sleep(100)
    // What was sent before the end of the faults has arrived by now.
    await this.#resumeAll()
  }

  async #resumeAll(): Promise<void> {
    const { types } = await this.#server.memory.count({})
    for (const { type, paused, pausedGroups } of types) {
      if (paused) await this.#server.call('medic', 'pause', [{ type, paused: false }])
      for (const { group } of pausedGroups) await this.#server.call('medic', 'pause', [{ type, group, paused: false }])
    }
  }

  /** Waits until no job is live, but for those of slots that came meanwhile, and every worker has claimed again. */
  async #rest(): Promise<void> {
    const until = this.timeline.now + restMs
    const healedAt = this.#server.now
    const returnsUntil = this.timeline.now + 4 * this.#setup.leaseMs + this.#returnMs
    const types = this.#setup.kinds.flatMap(storedTypesOf)
    const haveReturned = (): boolean =>
      this.timeline.now > returnsUntil ||
      this.#workers.every(({ node }) => types.every((type) => this.#returned.has(`${node.name} ${type}`)))
    const isLive = (record: { state: JobState; createdAt: number; type: string }): boolean =>
      !isTerminal(record.state) && !(record.type.endsWith('.slots') && record.createdAt > healedAt)
    for (;;) {
      const { items } = await this.#server.memory.list({ of: 'jobs', limit: 1_000 })
      if (
        !items.some(isLive) &&
        haveReturned() &&
        this.#workers.every(({ running }) => running === 0 || this.#setup.kinds.includes('slots'))
      ) {
        this.#note({ what: 'rested' })
        return
      }
      if (this.timeline.now >= until) {
        this.#note({ what: 'gaveUp' })
        return
      }
      await this.timeline.sleep(250)
    }
  }

  /** Adds a job to each type that nothing limits, and gives an idle worker one poll interval. */
  async #probe(): Promise<void> {
    const { pollMs, leaseMs, kinds } = this.#setup
    if (this.#entries.at(-1)?.what === 'gaveUp') return
    const withinMs = Math.min(pollMs, leaseMs) + 100
    const until = this.timeline.now + 30_000
    while (this.timeline.now < until && this.#workers.some(({ isReady }) => !isReady)) await this.timeline.sleep(250)
    const retention = { completedMs: 1, failedMs: 1, cancelledMs: 1 }
    for (const kind of kinds.filter((one) => one === 'plain' || one === 'keyed' || one === 'ordered')) {
      const [type] = storedTypesOf(kind)
      const job = {
        type: type!,
        id: 'probe',
        token: this.#nextId(),
        payload: Buffer.from('"payload-probe"'),
        maxAttempts: 5,
        retention,
      }
      this.#note({ what: 'probed', type: type!, id: 'probe', withinMs })
      await this.#server.call('medic', 'add', [[job]])
    }
    await this.timeline.sleep(withinMs + 500)
  }

  async #stopAll(): Promise<void> {
    const faces = [...this.#workers, ...this.#producers].filter(({ node }) => !node.isDead)
    await Promise.all(
      faces.map(async (face) => {
        await face.stop()
        await this.#watchStopped(face.node)
      }),
    )
  }

  /** Counts what is there, lets all of it expire, and looks what is left. */
  async #finish(): Promise<void> {
    this.#isOver = true
    const { memory } = this.#server
    const { items } = await memory.list({ of: 'jobs', limit: 1_000 })
    const { types } = (await this.#server.call('medic', 'count', [{}])) as Counts
    for (const { type, states } of types) {
      const records: Record<string, number> = {}
      for (const { state } of items.filter((item) => item.type === type)) records[state] = (records[state] ?? 0) + 1
      this.#note({ what: 'counted', type, counts: states, records })
    }
    this.#server.offsetMs += 2_000_000_000
    const sweep = (): Promise<unknown> => this.#server.call('medic', 'sweep', [{ limit: 1_000 }])
    while (((await sweep()) as Swept).more);
    const { jobs, marks } = await memory.sweep({ limit: 1_000 })
    this.#note({ what: 'left', jobs, keys: marks })
  }
}
