// Imported by each process of a test run. It reports its tests through a pipe, and is ended when they are done
// (--test-force-exit): what had not been read by then was lost, and the run told of fewer tests than had run
// (nodejs/node#64833). Writes that wait are never lost.

const { _handle: pipe } = process.stdout as { _handle?: { setBlocking?(isBlocking: boolean): void } }
pipe?.setBlocking?.(true)
