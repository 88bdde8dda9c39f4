// The pages of the command line: docs/cli.md has what holds for every command, and docs/cli/ has a page for each, with its help.

import type { AnyCommand } from '../../packages/holdfast/src/cli/command.ts'
import { commands } from '../../packages/holdfast/src/cli/commands.ts'
import { helpOf } from '../../packages/holdfast/src/cli/help.ts'

const intro = `# Command line

How to look at jobs and change them from a terminal: \`npx holdfast <command>\`. It works on every storage but memory, and needs no code of yours.

\`\`\`sh
npx holdfast status --url sqlite:./jobs.db
npx holdfast jobs --state failed --url sqlite:./jobs.db
npx holdfast retry m1 --url sqlite:./jobs.db
\`\`\`

Every command goes through the [admin handle](operating.md), so what it does is what \`createAdmin()\` does.

## The storage

| given | is |
|---|---|
| \`--url sqlite:./jobs.db\` | a file of SQLite |
| \`--url file:./jobs\` | a directory of the file storage |
| \`--url postgres://user:password@host/database\` | a database, with \`--schema\` if it is not \`holdfast\` |
| \`--url redis://host:6379\` | a server, with \`--prefix\` if it is not \`jq\` |
| \`HOLDFAST_URL\` | any of these, as an environment variable: a password in the arguments can be read by other users of the machine |
| \`holdfast.config.ts\`, \`.js\` or \`.mjs\` | the storage of the configuration in this folder; \`--config\` names another file |

- The first that is given counts. A file or directory that does not exist is refused; only \`enqueue\` and \`migrate\` make one.
- The schema of Postgres is never changed by a look at it: \`holdfast migrate\` does that.

## The configuration

\`holdfast.config.ts\` has the storage of the commands, and the workers that \`holdfast work\` runs:

\`\`\`ts
import { defineConfig, Queue } from 'holdfast'
import { SqliteStorage } from 'holdfast/sqlite'

const storage = new SqliteStorage({ path: './jobs.db' })

export const mail = new Queue<{ to: string }, string>({ storage, name: 'mail', concurrency: 10, logger: console })
mail.execute(({ payload }) => \`sent to \${payload.to}\`)

export default defineConfig({ storage, workers: [mail] })
\`\`\`

- A worker is a \`Queue\` with a handler, a worker of chains, the tasks of \`holdfast/tasks\`, or anything with \`start()\`, \`stop()\` and \`health()\`.
- \`holdfast work\` prints starts and stops. What happens to jobs goes to the \`logger\` of each worker; \`holdfast tail\` shows it from outside.
- The default export may be a function that returns the configuration, or a promise of it.
- Node.js runs the file as it is, so a \`.ts\` file may only have types that can be stripped. [options.md](options.md) lists the options.

## For people and for programs

- Tables fit the terminal, and 80 columns without one. Texts that are too long are cut; \`--wide\` shows them whole.
- \`--json\` prints one JSON value; \`tail\`, \`logs\`, \`work\` and \`top\` print one per line. Fields are those of the admin handle, and \`type\` is
  the name of the type as it is typed, such as \`queue.mail\`. Fields may be added later; those that are there keep their meaning.
- Errors go to the standard error; with \`--json\`, as \`{"error":{"code","message"}}\`.
- Colours are for terminals only. \`NO_COLOR=1\` turns them off.
- Control characters in ids, payloads, errors and log lines are printed as escapes, such as \`\\x1b\`. JSON has them as \`\\u001b\`.
- What destroys asks first. Without a terminal to ask at, pass \`--yes\`; else nothing is done, and the exit code is 2.

| exit code | means |
|---|---|
| 0 | done |
| 1 | failed: the storage did not answer, the job is unknown, its state did not allow the change, or the operator said no |
| 2 | wrong use: nothing was done. The message names the nearest command or option |

A type is named \`face.name\`, such as \`queue.mail\`, or by its name alone if no other face has it. Ids are unique within a type: if several types
have the id, the command lists them and exits with 2. \`--type\` says which one is meant. An id that begins with \`-\` is given after \`--\`.

## Completion

\`\`\`sh
source <(npx holdfast completion bash)                                 # bash
npx holdfast completion zsh > "\${fpath[1]}/_holdfast"                  # zsh
npx holdfast completion fish > ~/.config/fish/completions/holdfast.fish  # fish
\`\`\`

## Commands

The first example of each runs as it is in a folder with a \`jobs.db\` and a \`holdfast.config.ts\`; put \`npx\` before it.
`

/** Every page, by its path below docs/. */
export const renderPages = (): ReadonlyMap<string, string> =>
  new Map([
    ['cli.md', overviewPage()],
    ...commands.map((command): [string, string] => [`cli/${command.name}.md`, commandPage(command)]),
  ])

const overviewPage = (): string =>
  [intro, table(commands)].join('\n') +
  '\n`npm run docs:cli` writes these pages from the declarations of the commands; a test fails when they differ.\n'

const table = (all: readonly AnyCommand[]): string =>
  [
    '| command | does |',
    '|---|---|',
    ...all.map(({ name, summary }) => `| [\`${name}\`](cli/${name}.md) | ${summary} |`),
    '',
  ].join('\n')

const commandPage = (command: AnyCommand): string => `# holdfast ${command.name}

What \`holdfast ${command.name} --help\` prints. [The command line](../cli.md) has what holds for every command.

\`\`\`text
${helpOf(command)}
\`\`\`
`
