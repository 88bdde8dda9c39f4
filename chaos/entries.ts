// What the processes of a run write down, and the line format of it: one JSON object a line.

import type { JobState } from 'holdfast/storage'
import type { JobKind } from './jobs.ts'
import type { ProxyFault } from './proxy-faults.ts'

interface OfJob {
  readonly id: string
}

interface OfRun extends OfJob {
  /** worker#attempt. */
  readonly fence: string
}

export type Note =
  // Producers. Asked and no answer: it may have happened or not.
  | ({
      readonly what: 'asked'
      readonly type: string
      readonly kind: JobKind
      readonly maxAttempts: number
      readonly delayMs: number
    } & OfJob)
  | ({ readonly what: 'acked'; readonly status: string } & OfJob)
  /** Added with a row of the user's, in a transaction that is then rolled back. */
  | ({ readonly what: 'undoing' } & OfJob)
  | ({ readonly what: 'refused'; readonly code: string; readonly message: string } & OfJob)
  /** The storage answered an add that had been sent before, with the same token. */
  | ({ readonly what: 'repeated' } & OfJob)
  /** An enqueueAndWait was given the result of that run. */
  | ({ readonly what: 'answered' } & OfRun)
  | ({ readonly what: 'waitTimedOut' } & OfJob)
  | ({ readonly what: 'calling'; readonly verb: 'cancel' | 'revive' | 'remove' } & OfJob)
  | ({ readonly what: 'called'; readonly verb: 'cancel' | 'revive' | 'remove'; readonly verdict: string } & OfJob)
  // Workers.
  /** `runAt`, `claimedAt`: by the storage's clock, in ms. */
  | ({ readonly what: 'started'; readonly runAt: number; readonly claimedAt: number } & OfRun)
  | ({ readonly what: 'ended' } & OfRun)
  | ({ readonly what: 'aborted'; readonly reason: string } & OfRun)
  /** The storage's verdict about an outcome of ours. */
  | ({ readonly what: 'settled'; readonly kind: string; readonly verdict: string; readonly state?: JobState } & OfRun)
  /** It was told that a chain ended by a job of its own. */
  | { readonly what: 'chainEnded'; readonly chain: string }
  // Both.
  | { readonly what: 'ready' }
  /** Told to end in peace. */
  | { readonly what: 'finishing' }
  /** The first call that was answered after that mark. */
  | { readonly what: 'reached'; readonly mark: number }
  /** The next step is a SIGKILL of its own. */
  | { readonly what: 'crashing'; readonly point: string }
  | { readonly what: 'error'; readonly message: string }
  | { readonly what: 'unhandled'; readonly message: string }
  // The supervisor, of the process named.
  | { readonly what: 'spawned'; readonly process: string; readonly pid: number; readonly point?: string }
  | { readonly what: 'killed' | 'stopped' | 'continued'; readonly process: string }
  | { readonly what: 'serverKilled' | 'serverBack' | 'sessionEnded' }
  /** Of itself. */
  | { readonly what: 'serverDied' }
  /** Something happens to the connections of that slot, such as worker-0; and is over. */
  | { readonly what: 'disturbed'; readonly slot: string; readonly fault: ProxyFault }
  | { readonly what: 'restored'; readonly slot: string }
  /** The server, or the way to it, is there again for this process. */
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

/** `at`: ms of the machine's monotonic clock, which all its processes share. `by`: the process that wrote it. */
export type Entry = Note & { readonly at: number; readonly by: string }

export function entriesOf(text: string): Entry[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Entry)
}

export const fenceOf = ({ worker, attempt }: { worker: string; attempt: number }): string => `${worker}#${attempt}`

export const attemptOf = (fence: string): number => Number(fence.slice(fence.lastIndexOf('#') + 1))
