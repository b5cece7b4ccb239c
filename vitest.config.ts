import { defineConfig } from 'vitest/config';
import { CountReporter } from './scripts/count-reporter.ts';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    setupFiles: ['test/support/leaks.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    // A poll waits for what will happen; the default of one second is a guess about the machine.
    expect: { poll: { timeout: 15_000 } },
    reporters: ['default', new CountReporter()],
  },
});
