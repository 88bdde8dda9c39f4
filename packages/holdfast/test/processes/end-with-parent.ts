// For the processes of the tests: a process ends soon after the one that started it, however that ended. A test that is killed cannot
// end its processes, and they would look for its servers for ever.

/** Called first by the program of a process. */
export function endWithParent(): void {
  const parent = process.ppid
  const look = (): void => {
    if (process.ppid !== parent) process.exit(1)
  }
  setInterval(look, 2_000).unref()
}
