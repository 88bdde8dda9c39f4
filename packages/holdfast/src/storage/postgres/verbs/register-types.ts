// Looks up and registers the types that a call names. It runs outside the user's transaction, which may hold the pool's last
// connection: then it uses the reserved one.

import { outcomeJobs } from '../../check.ts'
import type { ClaimType, NewJob, Outcome } from '../../storage.ts'
import type { Connection } from '../connection/database.ts'
import type { JoinedTransaction } from '../rules/rule-runner.ts'
import type { OpenStorage } from './open-storage.ts'

const connectionOf = ({ database }: OpenStorage, joined: JoinedTransaction | undefined): Pick<Connection, 'query'> =>
  joined ? database.reserved : database

/** Looks up types of jobs that exist. */
export async function findTypes(
  open: OpenStorage,
  refs: readonly { readonly type: string }[],
  joined?: JoinedTransaction,
): Promise<void> {
  await open.types.find(
    connectionOf(open, joined),
    refs.map(({ type }) => type),
  )
}

/** Registers types and priorities of new jobs, and looks up the types of their blockers and of others. */
export async function registerJobs(
  open: OpenStorage,
  jobs: readonly Pick<NewJob, 'type' | 'priority' | 'group' | 'blockers'>[],
  joined: JoinedTransaction | undefined,
  others: readonly string[] = [],
): Promise<void> {
  const connection = connectionOf(open, joined)
  await open.types.register(connection, jobs)
  await open.types.find(connection, [...others, ...typesOfBlockers(jobs)])
}

/** @param claimed types that are claimed with the outcomes */
export async function registerOutcomes(
  open: OpenStorage,
  outcomes: readonly Outcome[],
  joined?: JoinedTransaction,
  claimed: readonly ClaimType[] = [],
): Promise<void> {
  const jobs = [...outcomes.flatMap(outcomeJobs), ...claimed.map(({ type }) => ({ type }))]
  await registerJobs(open, jobs, joined, typesOfOutcomes(outcomes))
}

const typesOfOutcomes = (outcomes: readonly Outcome[]): string[] =>
  outcomes.flatMap((outcome) => ('chain' in outcome ? [outcome.type, outcome.chain.type] : [outcome.type]))

const typesOfBlockers = (jobs: readonly Pick<NewJob, 'blockers'>[]): string[] =>
  jobs.flatMap(({ blockers }) =>
    (blockers ?? []).flatMap((blocker) => (typeof blocker === 'number' ? [] : [blocker.type])),
  )
