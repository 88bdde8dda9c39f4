// Who looks, and what they may do.

import { signal } from '@preact/signals'
import type { Session } from '../../shared/api.ts'
import type { Permission } from '../../shared/permissions.ts'

export const session = signal<Session | undefined>(undefined)

/** Only to hide what would be refused: the server checks every request. */
export const may = (permission: Permission): boolean => session.value?.can.includes(permission) ?? false
