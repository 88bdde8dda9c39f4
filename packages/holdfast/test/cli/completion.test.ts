// Completion: bash answers what the declarations say; the other scripts have every command and option.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { optionsOf } from '../../src/cli/command.ts'
import { commands } from '../../src/cli/commands.ts'
import { completionScript, shells } from '../../src/cli/completion-script.ts'
import { cli } from './test-host.ts'

/** Asks the function of the script for the last of these words. */
const ask = (...typed: readonly string[]): string =>
  `COMP_WORDS=(${typed.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${typed.length - 1}; COMPREPLY=(); _holdfast; echo "\${COMPREPLY[*]}"`

test('bash completes commands, options, and the words of both', async () => {
  const { code, out } = await cli(['completion', 'bash'])
  assert.equal(code, 0)
  const asked = [
    ask('holdfast', 're'),
    ask('holdfast', 'retry', '--per'),
    ask('holdfast', 'jobs', '--state', 'fail'),
    ask('holdfast', 'schedules', 'p'),
    ask('holdfast', 'completion', ''),
  ]
  const answers = execFileSync('bash', ['-u', '-c', [out, ...asked].join('\n')], { encoding: 'utf8' })
  const lines = answers
    .trimEnd()
    .split('\n')
    .map((line) => line.split(' ').toSorted())
  assert.deepEqual(lines.slice(0, 4), [
    ['redrive', 'remove', 'resume', 'retry', 'revive'],
    ['--per-second'],
    ['failed', 'failing'],
    ['pause', 'preview', 'prune'],
  ])
  assert.ok(lines[4]!.includes('zsh'))
})

for (const shell of shells) {
  test(`the script for ${shell} has every command, alias and option`, () => {
    const script = completionScript(shell, commands)
    for (const command of commands) {
      for (const name of [command.name, ...(command.aliases ?? [])]) assert.match(script, new RegExp(`\\b${name}\\b`))
      for (const option of Object.keys(optionsOf(command))) {
        assert.ok(script.includes(shell === 'fish' ? `-l ${option}` : `--${option}`), option)
      }
    }
    // No quote of a summary ends the text of the script.
    assert.equal(script.split("'").length % 2, 1)
  })
}
