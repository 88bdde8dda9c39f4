// The peers are installed on first use, and their types are of no use here: they may be any.

declare module '@fedify/redis'
declare module '@fedify/sqlite'
declare module '@platformatic/job-queue'
declare module 'bee-queue'
declare module 'better-sqlite3'
declare module 'bullmq'
declare module 'groupmq'
declare module 'ioredis'
declare module 'liteque'
declare module 'plainjob'
