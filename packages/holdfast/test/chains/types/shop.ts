// The job types that the type tests are about, and what they call. Never run.

import { type MemoryStorage } from 'holdfast'
import { type Client, type DefinitionsOf, defineJobTypes, type JobChainOf } from 'holdfast/chains'
import type { SqliteStorage, SqliteTransaction } from 'holdfast/sqlite'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? [] : [never]

/** Compiles only if the two types are identical. */
export declare function same<A, B>(...nothing: Same<A, B>): void

export declare const storage: SqliteStorage
export declare const memory: MemoryStorage

export const jobTypeRegistry = defineJobTypes<{
  // Ends, or goes on in one of two ways.
  order: {
    entry: true
    input: { orderId: string }
    output: { total: number }
    continueWith: { typeName: 'ship' | 'refund' }
  }
  // Only continues, also with itself: a loop.
  ship: { input: { address: string }; continueWith: { typeName: 'ship' | 'deliver' } }
  deliver: { input: { at: number }; output: 'delivered' }
  refund: { input: null; output: null }
  fetch: { entry: true; input: { url: string }; output: { body: string } }
  count: { entry: true; input: { words: string[] }; output: number }
  // Two slots, then as many as there are.
  report: {
    entry: true
    input: { title: string }
    output: string
    blockers: [{ typeName: 'fetch' }, { typeName: 'count' }, ...{ typeName: 'order' | 'fetch' }[]]
  }
  // By shape: deliver.
  plan: { entry: true; input: { day: number }; continueWith: { input: { at: number } } }
}>()

export type Types = DefinitionsOf<typeof jobTypeRegistry>

export declare const client: Client<Types, SqliteTransaction>
export declare const memoryClient: Client<Types>
export declare const order: JobChainOf<Types, 'order'>
export declare const fetched: JobChainOf<Types, 'fetch'>
export declare const counted: JobChainOf<Types, 'count'>
export declare const tx: SqliteTransaction
export declare const foreignTx: { begin(): void }
