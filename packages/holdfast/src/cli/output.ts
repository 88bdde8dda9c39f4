// Everything that a command writes, for people or as JSON.

import type { Host } from './host.ts'
import { type Column, table } from './table.ts'
import { escapedJson, type Part, render } from './text.ts'

/** Width without a terminal, and the one that every table fits. */
const usualWidth = 80

export class Output {
  readonly isJson: boolean
  readonly #host: Host
  readonly #isWide: boolean

  constructor(host: Host, { json = false, wide = false }: { readonly json?: boolean; readonly wide?: boolean }) {
    this.#host = host
    this.isJson = json
    this.#isWide = wide
  }

  get colors(): boolean {
    const { NO_COLOR, TERM } = this.#host.env
    return this.#host.size() !== undefined && (NO_COLOR ?? '') === '' && TERM !== 'dumb'
  }

  /** In columns. */
  get width(): number {
    return this.#isWide ? Infinity : (this.#host.size()?.columns ?? usualWidth)
  }

  line(...parts: readonly Part[]): void {
    this.#host.write(`${render(parts, this.colors)}\n`)
  }

  /** A text of several lines. */
  lines(text: string): void {
    for (const line of text.split('\n')) this.line(line)
  }

  table<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): void {
    for (const parts of table(rows, columns, this.width)) this.line(...parts)
  }

  /** One value, in one line if it is one of many. */
  json(value: unknown, { many = false } = {}): void {
    this.#host.write(`${toJson(value, many ? 0 : 2)}\n`)
  }

  /** What is not the answer: to the standard error, so that a pipe gets the answer alone. */
  note(...parts: readonly Part[]): void {
    this.#host.writeError(`${render(parts, false)}\n`)
  }
}

/** JSON of any value of a job, safe for a terminal. */
export function toJson(value: unknown, space: number): string {
  return escapedJson(JSON.stringify(value, asJson, space) ?? 'null')
}

/** What JSON has no form for. */
function asJson(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (value === Infinity) return 'Infinity'
  if (value instanceof Map) return [...value]
  if (value instanceof Set) return [...value]
  if (value instanceof Error) return { ...value, name: value.name, message: value.message }
  // A Buffer comes here as the object that its toJSON() makes.
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  return value
}
