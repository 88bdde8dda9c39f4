// The peers are installed on first use, and their types are of no use here: they may be any.

declare module '@platformatic/job-queue'
declare module 'better-sqlite3'
declare module 'liteque'
declare module 'plainjob'
