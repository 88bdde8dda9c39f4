// Where the view shows the jobs of a storage that has one type.

import { join } from 'node:path'
import type { FileStorage } from 'holdfast/file'
import { typeFolder } from '../../../src/storage/file/view/job-files.ts'

export async function viewFolderOf(directory: string, storage: FileStorage): Promise<string> {
  const { types } = await storage.count({})
  if (types.length !== 1) throw new Error(`expected one type, got ${types.length}`)
  return join(directory, typeFolder(types[0]!.type))
}
