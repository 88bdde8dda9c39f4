// `holdfast/file`: jobs in a directory.

export { FileStorage, type FileStorageOptions } from './file-storage.ts'
