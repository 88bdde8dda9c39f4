// Copies the address of the job, and how a program reads or adds it.

import type { JobPageData } from '../../../shared/api.ts'
import { notify } from '../../state/notices.ts'

/** As a program names the job: a queue reads it by itself, the other faces by the admin handle. */
function codeOf({ face, name, id }: JobPageData): string {
  const target = `{ face: ${text(face)}, name: ${text(name)}, id: ${text(id)} }`
  return `import { createAdmin } from 'holdfast'

const admin = createAdmin({ storage })
const job = await admin.jobs.get(${target})
const { reasons } = await admin.explain(${target})
console.log(job?.state, reasons.map(({ sentence }) => sentence))
await admin.close()
`
}

const text = (value: string): string =>
  `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`

function copy(what: string, value: string): void {
  // Only pages on loopback or HTTPS have a clipboard.
  const written = navigator.clipboard?.writeText(value) ?? Promise.reject(new Error())
  written.then(
    () => notify(`${what} is copied.`),
    () => notify('The browser does not let this page copy: it needs HTTPS, or localhost.', true),
  )
}

export function CopyButtons({ job }: { readonly job: JobPageData }) {
  return (
    <p class="button-row">
      <button type="button" class="small" onClick={() => copy('The link', location.href)}>
        Copy link
      </button>
      <button type="button" class="small" onClick={() => copy('The code', codeOf(job))}>
        Copy as code
      </button>
    </p>
  )
}
