// Tasks on Valkey, where there is one.

import { after, test } from 'node:test'
import { findValkey } from '../../../../servers/find.ts'
import { redisPlace, stopServers } from '../processes/drivers.ts'
import { taskTests } from './suites.ts'

after(stopServers)

if (findValkey()) await taskTests({ name: 'valkey', open: () => redisPlace('valkey') })
else test('tasks on Valkey', { skip: 'VALKEY_SERVER is not set: expected the path of a valkey-server' }, () => {})
