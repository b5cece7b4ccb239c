import { expect, test } from 'vitest';
import { carries, familyOf, processTable, readRow, type Kinship, type Row } from './census.ts';

const row = (pid: number, parent: number, session: number, startedAt = 100): Row => ({
  pid,
  parent,
  group: session,
  session,
  startedAt,
  residentPages: 1,
});
const kinship = (more: Partial<Kinship> = {}): Kinship => ({
  leader: 10,
  startedAt: 100,
  mark: 'M=1',
  known: new Map(),
  ...more,
});
const pids = (table: readonly Row[], of: Kinship, marked: readonly number[] = []) =>
  familyOf(table, of, (pid) => marked.includes(pid)).map(({ pid }) => pid);

test('the leader, its descendants and all of their sessions belong to it, and nobody else', () => {
  const table = [
    row(1, 0, 1, 0),
    row(2, 1, 2, 50),
    row(10, 2, 10),
    row(11, 10, 10),
    row(12, 11, 12),
    row(13, 1, 12),
    row(20, 1, 20),
  ];
  expect(pids(table, kinship())).toEqual([10, 11, 12, 13]);
});

test('what carries the mark belongs to it wherever it went, and what that began does too', () => {
  const table = [row(30, 1, 30, 120), row(29, 30, 29, 121), row(31, 1, 31, 122)];
  expect(pids(table, kinship(), [30])).toEqual([30, 29]);
});

test('a number that was given to another process since belongs to nobody', () => {
  expect(pids([row(10, 1, 10, 200)], kinship())).toEqual([]);
  const known = new Map([[11, row(11, 10, 10)]]);
  expect(pids([row(11, 1, 11, 200)], kinship({ known }))).toEqual([]);
  expect(pids([row(11, 1, 11)], kinship({ known }))).toEqual([11]);
});

test('what is older than the server is not even looked at', () => {
  const looked: number[] = [];
  familyOf([row(5, 1, 5, 99), row(6, 1, 6, 101)], kinship(), (pid) => looked.push(pid) === 0);
  expect(looked).toEqual([6]);
});

test('a session outside of the container is shared by strangers and says nothing', () => {
  expect(pids([row(10, 1, 0), row(40, 1, 0)], kinship())).toEqual([10]);
});

test.runIf(process.platform === 'linux')('this process is read as it is', () => {
  const mine = readRow(process.pid);
  expect(mine).toMatchObject({ pid: process.pid, parent: process.ppid });
  expect(processTable()).toContainEqual({ ...mine, residentPages: expect.any(Number) as number });
  expect(carries(process.pid, `PATH=${process.env['PATH'] ?? ''}`)).toBe(true);
  expect(carries(process.pid, 'PATH=')).toBe(false);
});
