// The peers are installed on first use, and their types are of no use here: they may be any.

declare module '@platformatic/job-queue'
declare module 'bee-queue'
declare module 'better-sqlite3'
declare module 'bullmq'
declare module 'graphile-worker'
declare module 'groupmq'
declare module 'ioredis'
declare module 'liteque'
declare module 'pg'
declare module 'pg-boss'
declare module 'plainjob'
