// Writes docs/options.md from the tables of options in the code.
//
//   npm run docs:options            writes the page
//   npm run docs:options -- --check  exit 1 if the page differs

import { readFileSync, writeFileSync } from 'node:fs'
import { renderPage } from './option-table/render.ts'

const page = new URL('../docs/options.md', import.meta.url)
const text = renderPage()

if (process.argv.includes('--check')) {
  const isSame = readFileSync(page, 'utf8') === text
  if (!isSame) console.error('docs/options.md differs from the code. Run `npm run docs:options`.')
  process.exit(isSame ? 0 : 1)
}
writeFileSync(page, text)
