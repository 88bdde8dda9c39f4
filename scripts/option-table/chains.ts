// The options of chains, as sections of the page.

import {
  clientOptions,
  deduplicationOptions,
  inProcessWorkerOptions,
  leaseOptions,
  listOptions,
  processingOptions,
  processorOptions,
  retryOptions,
  startOptions,
  waitForChainOptions,
  workerRunOptions,
  workerStopOptions,
} from '../../packages/holdfast/src/chains/options.ts'
import type { Table } from '../../packages/holdfast/src/resolve-options.ts'
import { deduplicationTypes } from './deduplication.ts'
import type { Section } from './sections.ts'

const types = 'holdfast/src/chains/types'
const worker = (...names: readonly string[]): string[] => names.map((name) => `${types}/worker.ts#${name}`)
const start = (...names: readonly string[]): string[] => names.map((name) => `${types}/start-options.ts#${name}`)

const without = (table: Table, ...names: readonly string[]): Table =>
  Object.fromEntries(Object.entries(table).filter(([name]) => !names.includes(name)))

export const chainSections: readonly Section[] = [
  {
    face: 'Chains',
    title: '`createClient(options)`',
    table: clientOptions,
    types: [`${types}/client.ts#ClientOptions`],
  },
  {
    face: 'Chains',
    title: '`client.startJobChain(options)`, and `continueWith` without `id`, `deduplication`, `traceContext` and `tx`',
    table: startOptions,
    types: start('JobOptions', 'ChainOptions'),
    // Conditional types: the compiler accepts them only where the job type declares blockers, and the storage has transactions.
    sentences: {
      startBlockers: 'Starts the chains that block the job; runs before the job is written, in the same move.',
      blockers: 'Chains that must complete before the job may run: existing ones, or others of the same call.',
      onBlockerFailure: 'Whether a failed or cancelled blocker fails the job, or leaves it waiting.',
      tx: 'A transaction of the storage: the chain exists once that commits, and never if it rolls back.',
    },
  },
  {
    face: 'Chains',
    title: '`deduplication` of a start',
    table: deduplicationOptions,
    types: [...start('ChainDeduplicationStrategy'), ...deduplicationTypes],
  },
  {
    face: 'Chains',
    title: '`createInProcessWorker(options)`',
    // The whole group is an alias of the options in it.
    table: without(inProcessWorkerOptions, 'jobTypeProcessing'),
    types: worker('AttemptOptions', 'ProcessingOptions', 'StopOptions', 'InProcessWorkerOptions'),
  },
  {
    face: 'Chains',
    title: 'A processor of `jobTypeProcessors`, over the options of its worker',
    table: processorOptions,
    types: worker('AttemptOptions', 'JobTypeProcessor'),
  },
  {
    face: 'Chains',
    title: '`jobTypeProcessing`, the options of a worker in a group, also by their aliases',
    table: processingOptions,
    types: worker('AttemptOptions', 'ProcessingOptions', 'JobTypeProcessing'),
  },
  { face: 'Chains', title: '`retryConfig`, an alias', table: retryOptions, types: worker('RetryConfig') },
  { face: 'Chains', title: '`leaseConfig`, an alias', table: leaseOptions, types: worker('LeaseConfig') },
  { face: 'Chains', title: '`worker.stop(options)`', table: workerStopOptions, types: worker('StopOptions') },
  {
    face: 'Chains',
    title: '`worker.run(options)`',
    table: workerRunOptions,
    types: ['holdfast/src/engine/lifecycle.ts#RunOptions', ...worker('StopOptions')],
  },
  {
    face: 'Chains',
    title: '`client.waitForJobChainCompletion(chain, options)`',
    table: waitForChainOptions,
    types: [`${types}/client.ts#WaitOptions`],
  },
  {
    face: 'Chains',
    title: '`client.listJobs(options)`, `client.listJobChains(options)`',
    table: listOptions,
    types: [`${types}/client.ts#ListOptions`],
  },
]
