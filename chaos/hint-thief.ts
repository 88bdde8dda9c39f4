// Takes a job that was handed over to another worker, as if this process had offered the slot: a planted defect.

import { claimWorker, type ClaimRequest, handedWorker, offeringWorker, type Signal } from 'holdfast/storage'

export class HintThief {
  /** The worker of the last claim that offered slots, by type. */
  readonly #offers = new Map<string, string>()
  #stolen = 0

  offered({ worker, types }: ClaimRequest): void {
    this.#offers.set(types[0]!.type, claimWorker(worker))
  }

  bend(signal: Signal): Signal {
    const own = this.#offers.get(signal.type!)
    if (!signal.handed || !own || offeringWorker(signal.handed.worker) === own) return signal
    return { ...signal, handed: { ...signal.handed, worker: handedWorker(own, -++this.#stolen) } }
  }
}
