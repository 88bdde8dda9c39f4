// Runs snippets in one process, one after the other: `run-snippets.ts <folder> …`. Each runs in its own folder, in which some make
// files; a file `done` there says that it ran, and the output has a line before that of each. The process ends by itself once the
// snippets hold nothing open.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

for (const folder of process.argv.slice(2)) {
  process.chdir(folder)
  console.log(`--- ${folder}`)
  try {
    await import(pathToFileURL(join(folder, 'snippet.ts')).href)
    writeFileSync(join(folder, 'done'), '')
  } catch (error) {
    // Those behind it run all the same.
    console.error(error)
    process.exitCode = 1
  }
}
