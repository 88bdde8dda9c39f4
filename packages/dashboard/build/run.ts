// Builds the app: `node build/run.ts`.

import { buildApp } from './build-app.ts'

console.log(`dashboard: the app has ${Math.round((await buildApp()) / 100) / 10} kB after gzip`)
