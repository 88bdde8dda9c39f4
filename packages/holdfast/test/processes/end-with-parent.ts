// Imported for its effect by the processes of the tests: a process ends soon after the one that started it, however that ended. A test
// that is killed cannot end its processes, and they would look for its servers for ever.

const parent = process.ppid

setInterval(() => {
  if (process.ppid !== parent) process.exit(1)
}, 2_000).unref()
