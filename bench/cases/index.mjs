// All cases in the order in which they are run and shown.
import { cases as calls } from './calls.mjs';
import { cases as connect } from './connect.mjs';
import { cases as host } from './host.mjs';
import { cases as large } from './large.mjs';
import { cases as lists } from './lists.mjs';
import { cases as memory } from './memory.mjs';
import { cases as registry } from './registry.mjs';
import { cases as servers } from './servers.mjs';
import { cases as start } from './start.mjs';

export const CASES = [...calls, ...lists, ...large, ...host, ...registry, ...servers, ...connect, ...start, ...memory];
