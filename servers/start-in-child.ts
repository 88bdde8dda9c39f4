// Starts a server in a child process that then ends by its last statement: for tests of what a process leaves behind.

import { spawn } from 'node:child_process'
import { once } from 'node:events'

/**
 * @param file a file of this folder
 * @param start the name of its export that starts a server
 * @param last the last statement of the child process
 */
export async function startInChild(
  file: string,
  start: string,
  last: string,
): Promise<{ port: number; directory: string }> {
  const module = JSON.stringify(new URL(file, import.meta.url).href)
  const code = `
    const { ${start} } = await import(${module})
    const server = await ${start}()
    const { port, directory } = server
    process.stdout.write(JSON.stringify({ port, directory }), () => { ${last} })
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'ignore'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  await once(child, 'close')
  return JSON.parse(output) as { port: number; directory: string }
}
