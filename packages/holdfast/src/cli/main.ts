#!/usr/bin/env node
// The command line: npx holdfast <command>.

import '../node-version.ts'
import { processHost } from './process-host.ts'
import { run } from './run.ts'

process.exitCode = await run(process.argv.slice(2), processHost())
