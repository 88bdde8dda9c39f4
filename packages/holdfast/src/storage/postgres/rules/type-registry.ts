// Types by name and number. New types are registered by statements of their own, committed at once, on a connection outside the
// user's transaction: two transactions that insert the same new type would wait for each other.

import type * as Moves from '../../rules/move.ts'
import type { Listeners } from '../../rules/signals.ts'
import type { NewJob, Paused } from '../../storage.ts'
import type { Connection, Row } from '../connection/database.ts'
import type { Statements } from '../sql/statements.ts'
import { arrayOf, decodeText, encodeText } from '../sql/text.ts'

/** A type as one call sees it. */
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

interface KnownType {
  readonly tid: number
  readonly name: string
  readonly priorities: Set<number>
  /** One of its jobs had a group. */
  isGrouped: boolean
}

export interface ListedType {
  readonly tid: number
  readonly priorities: readonly number[]
}

/**
 * The types that this process has seen. The number of a type does not change while the server runs. But it may come back with a restored
 * backup, in which a type has another number, or none: so types are read again after a connection was lost.
 */
export class TypeRegistry {
  readonly #statements: Statements
  readonly #listenersOf: (name: string) => Listeners
  readonly #lossesSoFar: () => number
  readonly #byName = new Map<string, KnownType>()
  readonly #byTid = new Map<number, KnownType>()
  /** Names that were read since the last loss. */
  readonly #current = new Set<string>()
  #losses = 0

  /** @param lossesSoFar number of connections that were lost */
  constructor(statements: Statements, listenersOf: (name: string) => Listeners, lossesSoFar: () => number) {
    this.#statements = statements
    this.#listenersOf = listenersOf
    this.#lossesSoFar = lossesSoFar
  }

  tidOf(name: string): number | undefined {
    return this.#byName.get(name)?.tid
  }

  nameOf(tid: number): string | undefined {
    return this.#byTid.get(tid)?.name
  }

  /** Whether a job of the type had a group, as far as this process knows. */
  isGrouped(name: string): boolean {
    return this.#byName.get(name)?.isGrouped === true
  }

  /** The same by number. */
  hasGroups(tid: number): boolean {
    return this.#byTid.get(tid)?.isGrouped === true
  }

  noteGrouped(tid: number): void {
    const known = this.#byTid.get(tid)
    if (known) known.isGrouped = true
  }

  listenersOf(name: string): Listeners {
    return this.#listenersOf(name)
  }

  /** Looks up the names that are not known yet. */
  async find(connection: Pick<Connection, 'query'>, names: Iterable<string>): Promise<void> {
    this.#noteLosses()
    const unknown = [...new Set(names)].filter((name) => !this.#current.has(name))
    if (unknown.length === 0) return
    this.#learn(await connection.query(this.#statements.types, [arrayOf(unknown.map(encodeText)), null]))
  }

  async findByTid(connection: Pick<Connection, 'query'>, tids: Iterable<number>): Promise<void> {
    this.#noteLosses()
    const unknown = [...new Set(tids)].filter((tid) => !this.#current.has(this.#byTid.get(tid)?.name ?? ''))
    if (unknown.length === 0) return
    this.#learn(await connection.query(this.#statements.types, [null, arrayOf(unknown)]))
  }

  /** Reads types anew, with the priorities of their jobs. @param names undefined: all */
  async list(connection: Pick<Connection, 'query'>, names: readonly string[] | undefined): Promise<ListedType[]> {
    const { types, allTypes } = this.#statements
    const rows = names
      ? await connection.query(types, [arrayOf([...new Set(names)].map(encodeText)), null])
      : await connection.query(allTypes, [])
    this.#learn(rows)
    return rows.map(([tid, , priorities]) => ({ tid: Number(tid), priorities: numbersOf(priorities!) }))
  }

  /** Inserts the types that do not exist yet, and adds the priorities of their jobs, and whether they have groups. */
  async register(
    connection: Pick<Connection, 'query'>,
    jobs: Iterable<Pick<NewJob, 'type' | 'priority' | 'group'>>,
  ): Promise<void> {
    this.#noteLosses()
    const missing = new Map<string, { name: string; priority: number }>()
    const grouped = new Set<string>()
    for (const { type: name, priority = 0, group } of jobs) {
      const known = this.#current.has(name) ? this.#byName.get(name) : undefined
      const isNewGroup = group !== undefined && !known?.isGrouped
      if (isNewGroup) grouped.add(name)
      if (!isNewGroup && known?.priorities.has(priority)) continue
      missing.set(JSON.stringify([name, priority]), { name, priority })
    }
    if (missing.size === 0) return
    const pairs = [...missing.values()].toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    const names = [...new Set(pairs.map(({ name }) => name))]
    await connection.query(this.#statements.addTypes, [arrayOf(names.map(encodeText))])
    // A new type has the priority 0.
    const others = pairs.filter(({ priority }) => priority !== 0)
    if (others.length > 0) {
      await connection.query(this.#statements.addPriorities, [
        arrayOf(others.map(({ name }) => encodeText(name))),
        arrayOf(others.map(({ priority }) => priority)),
      ])
    }
    if (grouped.size > 0) {
      await connection.query(this.#statements.groupTypes, [arrayOf([...grouped].toSorted().map(encodeText))])
    }
    this.#learn(await connection.query(this.#statements.types, [arrayOf(names.map(encodeText)), null]))
  }

  #noteLosses(): void {
    const losses = this.#lossesSoFar()
    if (losses === this.#losses) return
    this.#losses = losses
    this.#current.clear()
  }

  /** A snapshot may be older than what is known: priorities and groups only come. */
  #learn(rows: readonly Row[]): void {
    for (const [tid, text, priorities, grouped] of rows) {
      const name = decodeText(text!)
      const before = this.#current.has(name) ? this.#byName.get(name) : undefined
      const known = {
        tid: Number(tid),
        name,
        priorities: new Set([...(before?.priorities ?? []), ...numbersOf(priorities!)]),
        isGrouped: grouped === 'true' || before?.isGrouped === true,
      }
      this.#byName.set(name, known)
      this.#byTid.set(known.tid, known)
      this.#current.add(name)
    }
  }
}

/** The numbers of an array, as text. */
const numbersOf = (array: string): number[] => array.slice(1, -1).split(',').map(Number)
