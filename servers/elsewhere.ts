// For tests of what is left behind: starts a server in a process that then ends by its last statement.

import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** @param file of this folder; start: what it exports */
export async function startElsewhere(
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
