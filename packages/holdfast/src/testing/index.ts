// The test kit: the real engine, with a clock that you move.

import '../node-version.ts'
export { drain, type Drainable, type Drained, type DrainOptions } from './drain.ts'
export { type FakeClock, fakeClock, type FakeClockOptions } from './fake-clock.ts'
