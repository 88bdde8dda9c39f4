// Runs programs of this folder one after the other, in one process: most of what a program takes is the start of its process.
// The process ends by itself only if each program left nothing open.

for (const name of process.argv.slice(2)) {
  console.log(`# ${name}`)
  await import(`../${name}.ts`)
}
