// `holdfast/file`: jobs in a directory.

import '../../node-version.ts'
export { FileStorage, type FileStorageOptions } from './file-storage.ts'
