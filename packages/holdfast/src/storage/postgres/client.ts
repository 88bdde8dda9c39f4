// The part of pg that is used here. It is an optional peer: its types are not needed to read ours.

import { HoldfastError } from '../../errors.ts'

export interface PgQuery {
  readonly text: string
  readonly name?: string
  readonly values?: (string | null)[]
  readonly rowMode: 'array'
  readonly types: { getTypeParser(): (value: string) => string }
}

export interface PgResult {
  readonly command: string | null
  readonly rows: unknown[]
}

/** A client of pg. */
export interface PgClient {
  query(query: any): Promise<any>
  on(event: string, listener: (...args: any[]) => void): unknown
  removeListener(event: string, listener: (...args: any[]) => void): unknown
}

/** One that we made ourselves. */
export interface OwnPgClient extends PgClient {
  connect(): Promise<unknown>
  end(): Promise<void>
}

export interface PooledPgClient extends PgClient {
  release(destroy?: boolean): void
}

/** A Pool of pg. */
export interface PgPool {
  connect(): Promise<PooledPgClient>
  end(): Promise<void>
  on(event: string, listener: (...args: any[]) => void): unknown
  removeListener(event: string, listener: (...args: any[]) => void): unknown
}

/** What a Pool has besides, and its types do not tell. */
export interface PgPoolInside {
  readonly options: PgSettings
  readonly Client: new (settings: PgSettings) => OwnPgClient
}

export type PgSettings = Readonly<Record<string, unknown>>

export interface PgLibrary {
  readonly Pool: new (settings: PgSettings) => PgPool
}

export async function loadPg(): Promise<PgLibrary> {
  try {
    const loaded = (await import('pg')) as unknown as { default: PgLibrary }
    return loaded.default
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new HoldfastError(
      'MISSING_DEPENDENCY',
      'PostgresStorage needs a Postgres client: npm install pg, or pass one as `client`',
      { package: 'pg' },
    )
  }
}
