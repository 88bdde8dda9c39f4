import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'

test('a process of the tests ends after the process that started it was killed', async () => {
  const program = `import(${JSON.stringify(new URL('end-with-parent.ts', import.meta.url).href)}).then(({ endWithParent }) => console.log('up', endWithParent()))
    setInterval(() => {}, 60_000)`
  const parent = spawn(
    process.execPath,
    [
      '-e',
      `require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(program)}], { stdio: 'inherit' })`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  await once(parent.stdout, 'data')
  parent.kill('SIGKILL')
  // The output is open as long as the started process has it.
  await once(parent.stdout, 'close')
})
