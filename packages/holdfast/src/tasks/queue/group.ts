// The group of a message: an ordering key is an ordered group.

import { jobGroupOf } from '../../engine/job/job-options.ts'
import { invalidArgument } from '../../errors.ts'
import type { JobGroup } from '../../storage/storage.ts'
import type { GroupedOptions, MessageQueueEnqueueOptions } from './message-queue.ts'

type Given = GroupedOptions & Pick<MessageQueueEnqueueOptions, 'orderingKey'>

/** @throws TypeError INVALID_ARGUMENT */
export function checkOneGroup({ group, orderingKey }: Given): void {
  if (group === undefined || orderingKey === undefined) return
  throw invalidArgument('group', 'either group or orderingKey, not both', group)
}

/** @throws TypeError INVALID_ARGUMENT */
export function groupOf(given: Given): JobGroup | undefined {
  checkOneGroup(given)
  const { group, orderingKey } = given
  if (group !== undefined) return jobGroupOf(group)
  return orderingKey === undefined ? undefined : { key: orderingKey, ordered: true }
}
