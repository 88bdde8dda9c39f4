import assert from 'node:assert/strict'
import {
  cancelChainOptions,
  chainFilterOptions,
  jobFilterOptions,
  listOptions,
  startOptions,
  waitForChainOptions,
} from '../../../src/chains/options.ts'
import { deduplicationByMode } from '../../../src/engine/job/deduplication.ts'
import { calls, type HostileCall, optionCalls, over } from '../call.ts'
import { equalPayload, readJob } from '../read-back.ts'

const absent = ['CHAIN_NOT_FOUND', 'JOB_NOT_FOUND', 'UNKNOWN_TYPE', 'WAIT_TIMEOUT', 'NOT_TRIGGERABLE'] as const
const step = { typeName: 'step', input: null }

export const chainCalls: readonly HostileCall[] = [
  ...calls(
    'id',
    {
      'client.startJobChain': async ({ client }, id) => client.startJobChain({ ...step, id } as never),
      'client.startJobChains': async ({ client }, id) =>
        (await client.startJobChains({ items: [{ ...step, id }] } as never))[0 as never],
    },
    {
      readBack: async ({ client }, given, { id }) => {
        if (given !== undefined) assert.equal(id, given)
        assert.equal((await client.getJobChain({ typeName: 'step', id } as never))?.id, id)
        await client.deleteJobChains({ rootChainIds: [{ typeName: 'step', id }] } as never)
        assert.equal(await client.getJobChain({ typeName: 'step', id } as never), null)
      },
    },
  ),
  ...calls(
    'id',
    {
      'client.getJobChain': ({ client }, id) => client.getJobChain({ typeName: 'step', id } as never),
      'client.getJob': ({ client }, id) => client.getJob({ typeName: 'step', id } as never),
      'client.waitForJobChainCompletion': ({ client }, id) =>
        client.waitForJobChainCompletion({ typeName: 'step', id } as never, { timeoutMs: 0 }),
      'client.completeJobChain': ({ client }, id) =>
        client.completeJobChain({ typeName: 'step', id, complete: async () => {} } as never),
      'client.cancelJobChain': ({ client }, id) => client.cancelJobChain({ typeName: 'step', id } as never),
      'client.deleteJobChains': ({ client }, id) =>
        client.deleteJobChains({ rootChainIds: [{ typeName: 'step', id }] } as never),
      'client.triggerJob': ({ client }, id) => client.triggerJob({ typeName: 'step', id } as never),
    },
    { absent },
  ),
  ...calls(
    'typeName',
    {
      'client.startJobChain': ({ client }, typeName) => client.startJobChain({ typeName, input: null } as never),
      'client.getJobChain': ({ client }, typeName) => client.getJobChain({ typeName, id: 'x' } as never),
      'client.getJob': ({ client }, typeName) => client.getJob({ typeName, id: 'x' } as never),
      'client.completeJobChain': ({ client }, typeName) =>
        client.completeJobChain({ typeName, id: 'x', complete: async () => {} } as never),
      'client.cancelJobChain': ({ client }, typeName) => client.cancelJobChain({ typeName, id: 'x' } as never),
      'client.deleteJobChains': ({ client }, typeName) =>
        client.deleteJobChains({ rootChainIds: [{ typeName, id: 'x' }] } as never),
      'client.triggerJob': ({ client }, typeName) => client.triggerJob({ typeName, id: 'x' } as never),
      'client.waitForJobChainCompletion': ({ client }, typeName) =>
        client.waitForJobChainCompletion({ typeName, id: 'x' } as never, { timeoutMs: 0 }),
    },
    { absent },
  ),
  ...calls(
    'input',
    {
      'client.startJobChain': ({ client }, input) => client.startJobChain({ typeName: 'step', input } as never),
    },
    {
      names: /input|payload/,
      readBack: async ({ client }, given, { id }) =>
        // A promise is awaited, as a schema's answer is.
        equalPayload(
          (await client.getJob({ typeName: 'step', id } as never))?.input,
          given instanceof Promise ? await given : given,
        ),
    },
  ),
  ...optionCalls(
    'client.startJobChain',
    startOptions,
    ({ client }, options) => client.startJobChain(over(step, options) as never),
    {
      where: /startJobChain|options|expected/,
      leftOut: ['typeName', 'input', 'id', 'startBlockers', 'blockers'],
      readBack: (rig, options, { id }) => readJob(rig, 'chain.step', id, options),
    },
  ),
  ...calls(
    'blockers',
    {
      'client.startJobChain': ({ client }, blockers) => client.startJobChain({ ...step, blockers } as never),
      'client.startJobChain: one of': ({ client }, blocker) =>
        client.startJobChain({ ...step, blockers: [blocker] } as never),
      'client.startJobChain: the id of one of': ({ client }, id) =>
        client.startJobChain({ ...step, blockers: [{ typeName: 'step', id }] } as never),
    },
    { absent: ['BLOCKER_NOT_FOUND', 'INVALID_BLOCKERS'] },
  ),
  ...Object.entries(deduplicationByMode).flatMap(([mode, table]) =>
    optionCalls(
      `client.startJobChain: deduplication of mode ${mode}`,
      table,
      ({ client, id }, value) =>
        client.startJobChain({
          ...step,
          deduplication: over(
            {
              mode,
              key: id(),
              ...(mode === 'debounce' && { windowMs: 1_000 }),
              ...(mode === 'ascending' && { version: 1 }),
            },
            value,
          ),
        } as never),
      { where: /deduplication/, leftOut: ['mode'] },
    ),
  ),
  ...calls(
    'items',
    {
      'client.startJobChains': ({ client }, items) => client.startJobChains({ items } as never),
      'client.startJobChains: one of': ({ client }, item) => client.startJobChains({ items: [item] } as never),
    },
    { names: /items|expected/ },
  ),
  ...calls(
    'startJobChains',
    { 'client.startJobChains: all': ({ client }, options) => client.startJobChains(options) },
    { names: /startJobChains|items/ },
  ),
  ...calls('rootChainIds', {
    'client.deleteJobChains': ({ client }, rootChainIds) => client.deleteJobChains({ rootChainIds } as never),
  }),
  ...optionCalls(
    'client.cancelJobChain',
    cancelChainOptions,
    ({ client }, options) => client.cancelJobChain(over({ typeName: 'step', id: 'x' }, options) as never),
    { where: /options|expected/ },
  ),
  ...optionCalls(
    'client.waitForJobChainCompletion',
    waitForChainOptions,
    ({ client }, options) =>
      client.waitForJobChainCompletion(
        { typeName: 'step', id: 'x' } as never,
        over({ timeoutMs: 0 }, options) as never,
      ),
    { absent, where: /options|timeoutMs/ },
  ),
  ...optionCalls('client.listJobChains', listOptions, ({ client }, options) => client.listJobChains(options)),
  ...optionCalls('client.listJobs', listOptions, ({ client }, options) => client.listJobs(options)),
  ...optionCalls(
    'client.listJobChains: filter',
    chainFilterOptions,
    ({ client }, filter) => client.listJobChains({ filter }),
    { where: /filter/ },
  ),
  ...optionCalls('client.listJobs: filter', jobFilterOptions, ({ client }, filter) => client.listJobs({ filter }), {
    where: /filter/,
  }),
  ...calls(
    'schedule',
    {
      'client.schedules.put': async ({ client }, name) => {
        await client.schedules.put(name, { everyMs: 60_000, ...step } as never)
        assert.deepEqual(
          (await client.schedules.list()).map((item) => item.name),
          [name],
        )
        await client.schedules.remove(name)
      },
      'client.schedules.pause': ({ client }, name) => client.schedules.pause(name),
      'client.schedules.fire': ({ client }, name) => client.schedules.fire(name),
    },
    { absent: ['SCHEDULE_NOT_FOUND'] },
  ),
  ...calls('run', {
    'client.withNotify': ({ client }, run) => client.withNotify(typeof run === 'function' ? async () => {} : run),
  }),
]
