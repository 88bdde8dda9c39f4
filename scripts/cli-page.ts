// Writes docs/cli.md from the declarations of the commands.
//
//   npm run docs:cli             writes the page
//   npm run docs:cli -- --check  exit 1 if the page differs

import { readFileSync, writeFileSync } from 'node:fs'
import { renderPage } from './cli-page/render.ts'

const page = new URL('../docs/cli.md', import.meta.url)
const text = renderPage()

if (process.argv.includes('--check')) {
  const isSame = readFileSync(page, 'utf8') === text
  if (!isSame) console.error('docs/cli.md differs from the code. Run `npm run docs:cli`.')
  process.exit(isSame ? 0 : 1)
}
writeFileSync(page, text)
