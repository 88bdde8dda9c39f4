// holdfast/storage: the contract that a driver implements, the checks every driver calls first, and the key-value contract.

import '../node-version.ts'

export { type Clock, systemClock, type Timer } from '../clock.ts'
export {
  checkClaim,
  checkCountQuery,
  checkExtensions,
  checkKvLimit,
  checkKvWrite,
  checkListQuery,
  checkNewJobs,
  checkOutcomes,
  checkRecoverRequest,
  checkSweepRequest,
} from './check.ts'
export { aheadWorker } from './rules/job/ahead.ts'
export { claimWorker, handedLeaseMs, handedWorker, offeringWorker, offerMs } from './rules/job/handed.ts'
export { decodeKvKey, encodeKvKey, type KeyValue, type KvEntry, type KvKey, type KvPage, type KvWrite } from './kv.ts'
export { RefCounted } from './ref-counted.ts'
export type * from './storage.ts'
export { defaultType, faces, parseType, storedType } from './stored-type.ts'
