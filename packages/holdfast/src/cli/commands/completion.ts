import { command } from '../command.ts'
import { completionScript, shells } from '../completion-script.ts'
import { commands } from '../commands.ts'

export const completion = command({
  name: 'completion',
  summary: 'print the completion script of a shell',
  arguments: [{ name: 'shell', summary: 'which shell', values: shells }],
  usesStorage: false,
  examples: [
    { line: 'holdfast completion bash', does: 'for bash: source <(npx holdfast completion bash)' },
    { line: 'holdfast completion zsh', does: "for zsh: npx holdfast completion zsh > '${fpath[1]}/_holdfast'" },
    { line: 'holdfast completion fish', does: 'for fish: npx holdfast completion fish | source' },
  ],
  async run({ args, host }) {
    // The script is ours: nothing in it comes from a storage.
    host.write(completionScript(args.shell, commands))
    return 0
  },
})
