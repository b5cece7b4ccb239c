export { changeLines } from './changes.ts';
export { formatLock, parseLock, type Lock, type LockedServer } from './lock-file.ts';
export { createLockCheck, driftOf, isLocked, lockServer, type Drift, type LockCheck, type Offer } from './review.ts';
export { createPins, type PinnedTool, type Pins } from './pins.ts';
