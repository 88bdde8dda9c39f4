// The test kit: the real engine, with a clock that you move.

export { type FakeClock, fakeClock, type FakeClockOptions } from './fake-clock.ts'
