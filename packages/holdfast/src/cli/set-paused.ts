// pause and resume.

import type { Context, OptionSpec } from './command.ts'
import { findType, typeText } from './find-type.ts'

export const pauseArguments = [{ name: 'type', summary: 'such as queue.mail, or mail' }] as const

export const pauseOptions = {
  group: { kind: 'text', placeholder: 'key', summary: 'only this group of the type' },
} as const satisfies Readonly<Record<string, OptionSpec>>

export async function setPaused(
  { admin, args, options, out }: Context<typeof pauseArguments, typeof pauseOptions>,
  paused: boolean,
): Promise<number> {
  const handle = await admin()
  const type = await findType(handle, args.type)
  const { group } = options
  await (paused ? handle.pause({ ...type, group }) : handle.resume({ ...type, group }))
  const status = paused ? 'paused' : 'resumed'
  if (out.isJson) out.json({ type: typeText(type), ...(group !== undefined && { group }), status })
  else out.line(`${status}  ${typeText(type)}${group === undefined ? '' : `, group ${group}`}`)
  return 0
}
