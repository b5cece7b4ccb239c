// How one round is measured, and what is made of several.

/** Calls as often as it can for `seconds`, so many at once, and says how many a second and what each cost this process. */
export async function throughput(call, { inFlight, seconds }) {
  const cpuBefore = process.cpuUsage();
  const start = performance.now();
  const end = start + seconds * 1_000;
  let calls = 0;
  const loop = async () => {
    while (performance.now() < end) {
      await call();
      calls++;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, loop));
  const elapsed = performance.now() - start;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { value: (calls * 1_000) / elapsed, cpuUs: (user + system) / calls };
}

/** Milliseconds that `act` takes; the mean of as many times as fit in `seconds`, at least one. */
export async function duration(act, { seconds = 0 } = {}) {
  const cpuBefore = process.cpuUsage();
  const start = performance.now();
  let times = 0;
  do {
    await act();
    times++;
  } while (performance.now() - start < seconds * 1_000);
  const { user, system } = process.cpuUsage(cpuBefore);
  return { value: (performance.now() - start) / times, cpuUs: (user + system) / times };
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Median, least and most of a contender's rounds. */
export function summary(rounds) {
  const values = rounds.map(({ value }) => value);
  const cpu = rounds.flatMap(({ cpuUs }) => (cpuUs === undefined ? [] : [cpuUs]));
  return {
    median: median(values),
    min: Math.min(...values),
    max: Math.max(...values),
    cpuUs: cpu.length === 0 ? undefined : median(cpu),
    ...extras(rounds),
  };
}

/** The median of whatever else rounds tell, such as memory beside time. */
function extras(rounds) {
  const names = Object.keys(rounds[0]).filter((name) => name !== 'value' && name !== 'cpuUs');
  return Object.fromEntries(names.map((name) => [name, median(rounds.map((round) => round[name]))]));
}
