// How the record of a job is laid out. lua/move/record.ts and the fast paths write it; a claim answers with it as it is, and
// claimed-job.ts reads it.
//
// A claim and a completion only append to a record, because joining strings costs Lua by their length:
//
//   flags (1 byte), failures (3), createdAt (6), runAt (8, a double; only with the flag `later`)
//   body, as the client packed it at the add (requests.ts); extras, a map of what few jobs have, with the flag `extras`
//     (MessagePack both)
//   order (6), attempt (4), state (1)
//     with a lease: length of worker plus one (2), length of label plus one (2; 0: none), label, startedAt (6),
//       leaseUntil (8, a double), worker, attempt (4), length of worker plus one (2), state (1)
//     at its end: finishedAt (6), expiresAt (8, a double; -1: none), 0, or 1 and the result; state (1)
//
// The last byte is the state, or one of the numbers below. The state before the lease or the end is what the job was then, if the record only grew;
// otherwise it is `processing` if a lease follows.
//
// A job without extras is plain: it has no chain, group, key, blockers, dependents, deadline, search fields or report, and its
// payload is in its body. Nearly all jobs are plain.

/** The bits of the first byte. */
export const flags = {
  /** runAt differs from createdAt. */
  later: 1,
  extras: 2,
  /** It waits in a group. */
  aside: 4,
} as const

/**
 * The last byte of a job that its lease holder completed. Its own fields then describe that attempt, which has no entry in
 * the list of attempts. States count up from 0 and never reach this number.
 */
export const completedByHolder = 255

/**
 * The last byte of a job in processing whose lease is listed with those of its claim, in one entry (lua/move/claims.ts). The
 * byte of the state `processing`: it has an entry of its own.
 */
export const leasedByClaim = 254

/**
 * As completedByHolder, for a job that was listed with others that ended in the same call, in one entry (lua/move/ends.ts). It
 * may have an entry of its own by now.
 */
export const completedInBatch = 253

/** The last byte of a queued job that was listed with others of the same add, in one entry (lua/move/lots.ts). It may have its own by now. */
export const queuedInLot = 252

/** In bytes: a payload above it has a key of its own, so that the record stays quick to write. */
export const inlinePayloadBytes = 4_096
