import '../../node-version.ts'
export { type RedisDurability, type RedisStorageOptions } from './redis-options.ts'
export { RedisStorage } from './redis-storage.ts'
