// Finding a tool by its name and by words, among 10 and among 10,000.
import { duration } from '../measure.mjs';

function toolsOf(count) {
  return Array.from({ length: count }, (_, index) => ({
    name: `tool-${index}`,
    description: `Reads, writes and moves the documents of customer number ${index} and reports what was done.`,
    inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
  }));
}

function registryCase(name, title, unit, scale, act, targets, bounds) {
  return {
    name,
    title,
    unit,
    better: 'less',
    base: '10 tools',
    contenders: ['10 tools', '10,000 tools'],
    subject: '10,000 tools',
    targets,
    bounds,
    async prepare(contender, { seconds }) {
      const { createRegistry } = await import('../../dist/host/index.js');
      const count = Number(contender.replace(/\D/g, ''));
      const registry = createRegistry();
      registry.set({ name: 'plain', priority: 0 }, 'tool', { items: toolsOf(count), at: 0 });
      return {
        async round() {
          const { value } = await duration(
            () => {
              for (let times = 0; times < 100; times++) act(registry.snapshot, count, times);
            },
            { seconds: seconds / 2 },
          );
          return { value: (value / 100) * scale };
        },
      };
    },
  };
}

export const cases = [
  registryCase(
    'lookup',
    'registry: a tool by its name',
    'µs',
    1_000,
    (snapshot, count, times) => {
      if (snapshot.find('tool', `plain/tool-${(times * 97) % count}`).type !== 'found') throw new Error('It was not found.');
    },
    { '10 tools': 3 },
  ),
  registryCase(
    'search',
    'registry: tools by words',
    'ms',
    1,
    (snapshot) => snapshot.search('report documents customer', 10),
    undefined,
    [{ what: '10 ms', most: () => 10 }],
  ),
];
