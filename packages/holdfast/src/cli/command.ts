// A command as a declaration: parsing, --help, completion and its page in docs/cli/ are made from it.

import type { Admin } from '../admin/admin.ts'
import type { Storage } from '../storage/storage.ts'
import type { HoldfastConfig } from './config.ts'
import type { Host } from './host.ts'
import type { Output } from './output.ts'
import type { Kind } from './values.ts'

export interface ArgumentSpec {
  readonly name: string
  readonly summary: string
  readonly optional?: true
  /** Takes all that follow. */
  readonly many?: true
  /** The words that it may be. */
  readonly values?: readonly string[]
}

export interface OptionSpec {
  readonly kind: Kind
  readonly summary: string
  /** Name of the value in the help. @default that of the kind */
  readonly placeholder?: string
  /** May be given several times. */
  readonly repeat?: true
  /** The words that it may be. */
  readonly values?: readonly string[]
  /** One letter. */
  readonly short?: string
}

type Options = Readonly<Record<string, OptionSpec>>
type Arguments = readonly ArgumentSpec[]

type One<S extends OptionSpec> = S['kind'] extends 'flag'
  ? boolean
  : S['kind'] extends 'text'
    ? S extends { readonly values: readonly (infer Known)[] }
      ? Known
      : string
    : number
type OptionValues<O extends Options> = {
  readonly [Name in keyof O]?: O[Name] extends { readonly repeat: true } ? readonly One<O[Name]>[] : One<O[Name]>
}
type Word<S extends ArgumentSpec> = S extends { readonly values: readonly (infer Known)[] } ? Known : string
type ArgumentValues<A extends Arguments> = {
  readonly [S in A[number] as S['name']]: S extends { readonly many: true }
    ? readonly string[]
    : S extends { readonly optional: true }
      ? Word<S> | undefined
      : Word<S>
}

/** What a command runs with. */
export interface Context<A extends Arguments = Arguments, O extends Options = Options> {
  readonly args: ArgumentValues<A>
  readonly options: OptionValues<O & typeof commonOptions & typeof storageOptions & typeof askOptions>
  readonly out: Output
  readonly host: Host
  /** Opens the storage of --url or of the configuration. It is closed when the command ends. @throws UsageError */
  admin(): Promise<Admin>
  /** The storage of admin(). */
  storage(): Promise<Storage>
  /** The configuration file. Undefined: there is none. @throws UsageError if --config names no file */
  config(): Promise<HoldfastConfig | undefined>
}

interface Example {
  /** As it is typed. */
  readonly line: string
  /** What it does. */
  readonly does: string
}

export interface Command<A extends Arguments = Arguments, O extends Options = Options> {
  readonly name: string
  /** Other names. */
  readonly aliases?: readonly string[]
  readonly summary: string
  /** Sentences below the summary. */
  readonly details?: readonly string[]
  readonly arguments?: A
  readonly options?: O
  /** The first one runs as it is, in a folder like that of docs/cli.md: a test proves it. */
  readonly examples: readonly [Example, ...Example[]]
  /** Whether it opens a storage, and so takes --url and --config. @default true */
  readonly usesStorage?: boolean
  /** A missing SQLite file or directory is made. @default false: it is refused, so that a typing error does not look like an empty storage */
  readonly createsStorage?: true
  /** It destroys something: it asks, or takes --yes. */
  readonly asks?: true
  /** @returns the exit code */
  run(context: Context<A, O>): Promise<number>
}

/** Any command: what the table holds. */
export type AnyCommand = Omit<Command, 'run'> & { run(context: never): Promise<number> }

/** Declares a command: the types of its arguments and options come from the declaration. */
export function command<const A extends Arguments, const O extends Options>(declared: Command<A, O>): AnyCommand {
  return declared as unknown as AnyCommand
}

export const commonOptions = {
  json: { kind: 'flag', summary: 'print JSON, for programs' },
  wide: { kind: 'flag', summary: 'do not cut the columns of tables' },
  help: { kind: 'flag', summary: 'print this help', short: 'h' },
} as const satisfies Options

export const storageOptions = {
  url: {
    kind: 'text',
    placeholder: 'url',
    summary:
      'sqlite:./jobs.db, file:./jobs, postgres://… or redis://…; default: HOLDFAST_URL, else the configuration file',
  },
  config: {
    kind: 'text',
    placeholder: 'file',
    summary: 'configuration file; default: holdfast.config.ts, .js or .mjs',
  },
  schema: { kind: 'text', placeholder: 'name', summary: 'schema of the tables in Postgres; default: holdfast' },
  prefix: { kind: 'text', placeholder: 'text', summary: 'prefix of the keys in Redis; default: jq' },
  by: {
    kind: 'text',
    placeholder: 'name',
    summary: 'name of the operator, for the audit log, pauses and limits; default: the user name',
  },
} as const satisfies Options

export const askOptions = {
  yes: { kind: 'flag', summary: 'do not ask; required without a terminal', short: 'y' },
} as const satisfies Options

/** Every option that a command takes. */
export function optionsOf({ options, usesStorage = true, asks }: AnyCommand): Options {
  return { ...options, ...(asks && askOptions), ...(usesStorage && storageOptions), ...commonOptions }
}
