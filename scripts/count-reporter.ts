// The last line of a test run: `N passed, N failed`, with `, N skipped` when there are some.
// It never turns a bad run into a good one: what failed outside a test (a hook, an import, a leak) counts as failed too.
import { writeSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

export class CountReporter implements Reporter {
  onInit(): void {
    // Printed on exit, so that nothing comes after it.
    process.once('exit', () => writeSync(1, `${this.#line}\n`));
  }

  #line = '0 passed, 1 failed';

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    let failed = unhandledErrors.length;
    let passed = 0;
    let skipped = 0;
    for (const module of modules) {
      failed += module.errors().length;
      for (const suite of module.children.allSuites()) failed += suite.errors().length;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') passed++;
        else if (state === 'failed') failed++;
        else skipped++;
      }
    }
    if (passed + failed === 0) failed = 1;
    if (failed > 0) process.exitCode = 1;
    this.#line = `${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`;
  }
}
