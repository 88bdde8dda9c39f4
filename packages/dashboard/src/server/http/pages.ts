// The HTML documents: the page of the app, and the page of a refusal. Neither has inline code.

import type { Manifest } from '../assets.ts'
import { respond } from './responses.ts'

const html = { 'content-type': 'text/html; charset=utf-8' }

/** @param basePath has plain characters only: options.ts checks it */
export function appPage(basePath: string, { script, style, icon }: Manifest): Response {
  const asset = (name: string): string => `${basePath}/assets/${name}`
  return respond(
    `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<meta name="holdfast-base" content="${basePath}">
<title>Holdfast</title>
<link rel="icon" type="image/svg+xml" href="${asset(icon)}">
<link rel="stylesheet" href="${asset(style)}">
<script type="module" src="${asset(script)}"></script>
</head>
<body>
<div id="app"></div>
<noscript>The dashboard of Holdfast needs JavaScript.</noscript>
</body>
</html>
`,
    200,
    html,
  )
}

/** For people who open the dashboard in a browser. The text is one of our own sentences, escaped all the same. */
export function refusalPage(status: number, message: string): Response {
  const text = message.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return respond(
    `<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Holdfast: ${status}</title><h1>${status}</h1><p>${text}</p></html>\n`,
    status,
    html,
  )
}
