// Types by name and number. They are registered in statements of their own, committed at once, on a connection that is no
// part of a user's transaction: two transactions that bring the same new type would wait for each other.

import type { NewJob, Paused } from '../../storage.ts'
import type * as Moves from '../../rules/move.ts'
import type { Listeners } from '../../rules/signals.ts'
import type { Connection, Row } from '../connection/database.ts'
import type { Statements } from './statements.ts'
import { arrayOf, decodeText, encodeText } from './text.ts'

/** A type as one call has it. */
export class PostgresType implements Moves.JobType {
  readonly tid: number
  readonly name: string
  readonly listeners: Listeners
  paused: Paused | undefined

  constructor(tid: number, name: string, listeners: Listeners, paused: Paused | undefined) {
    this.tid = tid
    this.name = name
    this.listeners = listeners
    this.paused = paused
  }
}

interface Known {
  readonly tid: number
  readonly name: string
  readonly priorities: Set<number>
}

/** What this process knows of them. A type keeps its number for ever. */
export class Types {
  readonly #statements: Statements
  readonly #listenersOf: (name: string) => Listeners
  readonly #byName = new Map<string, Known>()
  readonly #byTid = new Map<number, Known>()

  constructor(statements: Statements, listenersOf: (name: string) => Listeners) {
    this.#statements = statements
    this.#listenersOf = listenersOf
  }

  tidOf(name: string): number | undefined {
    return this.#byName.get(name)?.tid
  }

  nameOf(tid: number): string | undefined {
    return this.#byTid.get(tid)?.name
  }

  listenersOf(name: string): Listeners {
    return this.#listenersOf(name)
  }

  /** Looks for those that are not known yet. */
  async find(connection: Pick<Connection, 'query'>, names: Iterable<string>): Promise<void> {
    const unknown = [...new Set(names)].filter((name) => !this.#byName.has(name))
    if (unknown.length === 0) return
    this.#learn(await connection.query(this.#statements.types, [arrayOf(unknown.map(encodeText)), null]))
  }

  async findByTid(connection: Pick<Connection, 'query'>, tids: Iterable<number>): Promise<void> {
    const unknown = [...new Set(tids)].filter((tid) => !this.#byTid.has(tid))
    if (unknown.length === 0) return
    this.#learn(await connection.query(this.#statements.types, [null, arrayOf(unknown)]))
  }

  /** Makes those that are not there yet, and the priorities of their jobs. */
  async register(
    connection: Pick<Connection, 'query'>,
    jobs: Iterable<Pick<NewJob, 'type' | 'priority'>>,
  ): Promise<void> {
    const missing = new Map<string, { name: string; priority: number }>()
    for (const { type: name, priority = 0 } of jobs) {
      if (this.#byName.get(name)?.priorities.has(priority)) continue
      missing.set(JSON.stringify([name, priority]), { name, priority })
    }
    if (missing.size === 0) return
    const pairs = [...missing.values()].toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    const names = [...new Set(pairs.map(({ name }) => name))]
    await connection.query(this.#statements.addTypes, [arrayOf(names.map(encodeText))])
    const strange = pairs.filter(({ priority }) => priority !== 0)
    if (strange.length > 0) {
      await connection.query(this.#statements.addPriorities, [
        arrayOf(strange.map(({ name }) => encodeText(name))),
        arrayOf(strange.map(({ priority }) => priority)),
      ])
    }
    this.#learn(await connection.query(this.#statements.types, [arrayOf(names.map(encodeText)), null]))
  }

  #learn(rows: readonly Row[]): void {
    for (const [tid, name, priorities] of rows) {
      const known = {
        tid: Number(tid),
        name: decodeText(name!),
        priorities: new Set(priorities!.slice(1, -1).split(',').map(Number)),
      }
      this.#byName.set(known.name, known)
      this.#byTid.set(known.tid, known)
    }
  }
}
