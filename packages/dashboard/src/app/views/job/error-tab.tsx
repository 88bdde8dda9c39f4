// An error with its causes. Frames of libraries and of Node.js are folded, those of the application stand out.

import type { ErrorDetails } from 'holdfast'

export function ErrorTab({ error }: { readonly error: ErrorDetails }) {
  return (
    <div class="error">
      <p class="error-title">
        {error.name !== undefined && <strong>{error.name}: </strong>}
        <bdi>{error.message}</bdi>
        {error.code !== undefined && <code>{error.code}</code>}
      </p>
      {typeof error.stack === 'string' && <Stack stack={error.stack} />}
      {error.cause !== undefined && (
        <>
          <p class="muted">Caused by</p>
          <ErrorTab error={error.cause as ErrorDetails} />
        </>
      )}
    </div>
  )
}

const isForeign = (line: string): boolean => /node_modules|\(?node:|<anonymous>/.test(line)

function Stack({ stack }: { readonly stack: string }) {
  const frames = stack.split('\n').filter((line) => /^\s*at /.test(line))
  if (frames.length === 0) return <pre class="code">{stack}</pre>
  const [own, foreign] = [frames.filter((line) => !isForeign(line)), frames.filter(isForeign)]
  return (
    <>
      {own.length > 0 && <pre class="code own">{own.map((line) => line.trim()).join('\n')}</pre>}
      {foreign.length > 0 && (
        <details open={own.length === 0}>
          <summary>{foreign.length} frames of libraries</summary>
          <pre class="code muted">{foreign.map((line) => line.trim()).join('\n')}</pre>
        </details>
      )}
    </>
  )
}
