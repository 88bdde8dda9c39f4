// The most memory that is in use while something runs, without garbage: each sample collects first.

/** Time between two samples, in ms: a collection takes a few. */
const sampleMs = 100

export class PeakHeap {
  peakBytes = 0
  /** Time and CPU that the samples took, in ms. */
  tookMs = 0
  tookCpuMs = 0
  readonly #before: number
  #nextAt = 0

  private constructor(before: number) {
    this.#before = before
  }

  static async start(): Promise<PeakHeap> {
    // Twice, in separate turns of the event loop: the first frees what the second collects.
    inUse()
    await new Promise<void>((resolve) => void setImmediate(resolve))
    return new PeakHeap(inUse())
  }

  sample(): void {
    const begun = performance.now()
    if (begun < this.#nextAt) return
    const cpuBegun = process.cpuUsage()
    this.peakBytes = Math.max(this.peakBytes, inUse() - this.#before)
    const ended = performance.now()
    const { user, system } = process.cpuUsage(cpuBegun)
    this.tookMs += ended - begun
    this.tookCpuMs += (user + system) / 1_000
    this.#nextAt = ended + sampleMs
  }
}

function inUse(): number {
  globalThis.gc!()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
