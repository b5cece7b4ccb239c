export { backoff, type BackoffOptions } from './backoff.ts';
export { sleep, systemClock, type Clock, type Timer } from './clock.ts';
export { closest, didYouMean, suggestion } from './closest.ts';
export { canonical, digest } from './digest.ts';
export { createFeed, type Feed, type FeedSource } from './feed.ts';
export { limitOf, LIMITS, overLimit, type Limit, type LimitName, type Limits } from './limits.ts';
export { realSignal, Stop, type StopSignal } from './stop.ts';
export { createRate, type Rate, type RateOptions } from './rate.ts';
export { silent, type Log, type LogLevel } from './log.ts';
