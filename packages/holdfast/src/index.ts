export { MemoryStorage, type MemoryStorageOptions } from './storage/memory/memory-storage.ts'
