// Writes docs/cli.md and the pages of docs/cli/ from the declarations of the commands.
//
//   npm run docs:cli             writes the pages
//   npm run docs:cli -- --check  exit 1 if a page differs

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { renderPages } from './cli-page/render.ts'

const docs = new URL('../docs/', import.meta.url)
const pages = [...renderPages()]

if (process.argv.includes('--check')) {
  const differing = pages.filter(([path, text]) => readFileSync(new URL(path, docs), 'utf8') !== text)
  for (const [path] of differing) console.error(`docs/${path} differs from the code. Run \`npm run docs:cli\`.`)
  process.exit(differing.length === 0 ? 0 : 1)
}
mkdirSync(new URL('cli/', docs), { recursive: true })
for (const [path, text] of pages) writeFileSync(new URL(path, docs), text)
