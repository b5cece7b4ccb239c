// Parts for tests of code that speaks through Parley: shipped as `parley/testing`.
export { createFakeClock, type FakeClock } from './clock.ts';
export { createScriptedLine, type ScriptedLine, type ScriptedLineOptions } from './line.ts';
