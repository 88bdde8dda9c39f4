// Dead letters of the jobs that a Reaper fails, because it took back their last attempt. recover() says which jobs these are, and
// adds none: the letters follow in a call of their own, as those of a worker do for jobs that the storage ended.

import type { Clock } from '../clock.ts'
import type { PublishEvent } from '../engine/events.ts'
import type { GuardedStorage } from '../engine/guard.ts'
import type { Serde } from '../engine/job/serde.ts'
import { ValueSerde } from '../engine/job/values.ts'
import { DeadLetters, type FailedJob } from '../engine/work/dead-letters.ts'
import { invalidArgument } from '../errors.ts'
import type { Recovered } from '../storage/storage.ts'
import { storedType } from '../storage/stored-type.ts'
import { deadLetterOf } from './dead-letter.ts'
import { defaultRetention } from './options.ts'

interface ReaperLettersOptions {
  readonly storage: GuardedStorage
  readonly clock: Clock
  readonly publishEvent: PublishEvent
  readonly face: string
  /** Names of the queues whose jobs have letters. */
  readonly names: readonly string[]
  /** Name of the queue that the letters are added to. */
  readonly deadLetter: string
  readonly payloadSerde: Serde<unknown> | undefined
}

export class ReaperLetters {
  readonly #storage: GuardedStorage
  readonly #letters: DeadLetters

  /** @throws TypeError INVALID_ARGUMENT */
  constructor({ face, names, deadLetter, payloadSerde = new ValueSerde(), ...engine }: ReaperLettersOptions) {
    if (names.includes(deadLetter)) throw invalidArgument('deadLetter', 'the name of another queue', deadLetter)
    const deadLetterType = storedType(face, deadLetter)
    const { storage, clock } = engine
    const types = names.map((name) => {
      const lettering = { name, deadLetterType, payloadSerde, retention: defaultRetention, clock }
      return { type: storedType(face, name), deadLetterOf: (failed: FailedJob) => deadLetterOf(failed, lettering) }
    })
    this.#storage = storage
    this.#letters = new DeadLetters({ ...engine, types })
  }

  /** Adds the letters of those that failed. @throws StorageError if their payloads cannot be read */
  async addFor(recovered: readonly Recovered[]): Promise<void> {
    const failed = recovered.filter(({ state }) => state === 'failed').map(({ type, id }) => ({ type, id }))
    if (failed.length === 0) return
    const records = await this.#storage.get(failed, { parts: ['payload'] })
    // One that was retried or added anew since is live, and has no letter.
    this.#letters.addFor(
      records.flatMap((record) => (record?.state === 'failed' ? { ...record, state: 'failed' } : [])),
    )
  }

  /** Waits for letters that are being added, at most `ms`. */
  flush(ms: number): Promise<void> {
    return this.#letters.flush(ms)
  }
}
