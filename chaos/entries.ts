// The log entries of the processes of a run: one JSON object per line.

import type { JobState } from 'holdfast/storage'
import type { JobKind } from './jobs.ts'
import type { Key } from './keys.ts'
import type { ProxyFault } from './proxy-faults.ts'

interface JobNote {
  readonly id: string
}

interface RunNote extends JobNote {
  /** worker#attempt. */
  readonly fence: string
}

export type OperatorVerb = 'cancel' | 'revive' | 'remove'

export type Note =
  // Producers. `asked` without an answer: the call may have been applied or not.
  | ({
      readonly what: 'asked'
      readonly type: string
      readonly kind: JobKind
      readonly maxAttempts: number
      readonly delayMs: number
      readonly priority: number
      readonly group?: string | undefined
      /** Whether its group is ordered. */
      readonly ordered?: boolean | undefined
      readonly weight?: number
      readonly key?: Key | undefined
    } & JobNote)
  /** `standing`: the id of another job that has the key. */
  | ({ readonly what: 'acked'; readonly status: string; readonly standing?: string | undefined } & JobNote)
  /** Added with a user row in a transaction that is then rolled back. */
  | ({ readonly what: 'undoing' } & JobNote)
  | ({ readonly what: 'refused'; readonly code: string; readonly message: string } & JobNote)
  /** The storage answered a repeated add with the same token. */
  | ({ readonly what: 'repeated' } & JobNote)
  /** An enqueueAndWait returned the result of this run. */
  | ({ readonly what: 'answered' } & RunNote)
  | ({ readonly what: 'waitTimedOut' } & JobNote)
  /** `edited`: with another payload, by a redrive. */
  | ({ readonly what: 'calling'; readonly verb: OperatorVerb; readonly edited?: true } & JobNote)
  | ({
      readonly what: 'called'
      readonly verb: OperatorVerb
      readonly verdict: string
      readonly edited?: true
    } & JobNote)
  // Operators. `paused`: the call was answered. `resuming`: the call is made next.
  | { readonly what: 'paused' | 'resuming'; readonly type: string; readonly group?: string | undefined }
  // Workers.
  /** `runAt`, `claimedAt`: by the storage's clock, in ms. */
  | ({
      readonly what: 'started'
      readonly runAt: number
      readonly claimedAt: number
      /** By a redrive. */
      readonly edited?: true | undefined
      /** The slot of a schedule, in epoch ms. */
      readonly slotAt?: number | undefined
      /** Of a job with a deduplication key: the id under which its payload was added. */
      readonly payloadOf?: string | undefined
    } & RunNote)
  /** A claim was answered, or failed. `sentAt`: as `at`, when the call was made. `leaseUntil`: as `at`, the earliest end of the leases. */
  | {
      readonly what: 'claimed'
      readonly type: string
      readonly sentAt: number
      readonly leaseUntil?: number
      readonly runs: readonly RunNote[]
      /** The job came by a hint: an add leased it to this worker after the claim at `sentAt`, which offered the slot. */
      readonly handed?: true
    }
  | { readonly what: 'claimFailed'; readonly type: string; readonly sentAt: number }
  /** A lease of a type with limits was extended. */
  | ({ readonly what: 'extended'; readonly leaseUntil: number } & RunNote)
  /** The handler is told to slow down, for so long from its outcome on. */
  | ({ readonly what: 'slowed'; readonly scope: 'type' | 'group'; readonly ms: number } & RunNote)
  /** `lines`: number of log lines that the run reported. */
  | ({ readonly what: 'ended'; readonly lines: number } & RunNote)
  /** A heartbeat with log lines of this run got no answer: they are sent again, and may be stored twice. */
  | ({ readonly what: 'reportUnanswered' } & RunNote)
  | ({ readonly what: 'aborted'; readonly reason: string } & RunNote)
  /** The storage's verdict on an outcome. */
  | ({ readonly what: 'settled'; readonly kind: string; readonly verdict: string; readonly state?: JobState } & RunNote)
  /** An outcome of this process ended a chain. */
  | { readonly what: 'chainEnded'; readonly chain: string }
  // Both.
  | { readonly what: 'ready' }
  /** The supervisor asked the process to finish. */
  | { readonly what: 'finishing' }
  /** The first call that was answered after this mark. */
  | { readonly what: 'reached'; readonly mark: number }
  /** The process sends itself SIGKILL next. */
  | { readonly what: 'crashing'; readonly point: string }
  | { readonly what: 'error'; readonly message: string }
  | { readonly what: 'unhandled'; readonly message: string }
  // The supervisor, about the named process.
  | { readonly what: 'spawned'; readonly process: string; readonly pid: number; readonly point?: string }
  | { readonly what: 'killed' | 'stopped' | 'continued'; readonly process: string }
  | { readonly what: 'serverKilled' | 'serverBack' | 'serverFrozen' | 'serverThawed' | 'sessionEnded' }
  /** The server ended by itself. */
  | { readonly what: 'serverDied' }
  /** A fault on the connections of this slot, such as worker-0, starts; and ends. */
  | { readonly what: 'disturbed'; readonly slot: string; readonly fault: ProxyFault }
  | { readonly what: 'restored'; readonly slot: string }
  /** The server or its proxy is available again for this process. */
  | {
      readonly what: 'marked'
      readonly process: string
      readonly mark: number
      readonly after: 'server' | 'proxy'
    }
  | {
      readonly what: 'exited'
      readonly process: string
      readonly code: number | null
      readonly signal: string | null
    }

/** `at`: ms of the machine's monotonic clock, shared by all processes. `by`: the process that wrote the entry. */
export type Entry = Note & { readonly at: number; readonly by: string }

export function entriesOf(text: string): Entry[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Entry)
}

export const fenceOf = ({ worker, attempt }: { worker: string; attempt: number }): string => `${worker}#${attempt}`

export const attemptOf = (fence: string): number => Number(fence.slice(fence.lastIndexOf('#') + 1))
