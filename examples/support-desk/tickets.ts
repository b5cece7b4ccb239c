// The helpdesk's tickets, over HTTP. Somebody else runs it, so nothing it says about its tools counts: the user reviewed one.
import { createServer, serveHttp, ToolError } from 'parley/server';

interface Ticket {
  readonly id: string;
  readonly subject: string;
  readonly text: string;
  open: boolean;
}

const tickets: Ticket[] = [
  {
    id: 'T-7',
    subject: 'Lamp arrived broken',
    text: 'Order 1001: the shade is cracked. I would like half of it back.',
    open: true,
  },
  { id: 'T-8', subject: 'Where is my notebook?', text: 'Order 1002 has not arrived yet.', open: true },
];

const server = createServer({ name: 'tickets', version: '1.0.0' });

server.tool(
  {
    name: 'search_tickets',
    description: 'Finds tickets by words in them.',
    input: { type: 'object', properties: { words: { type: 'string' } }, required: ['words'] },
  },
  ({ words }) => {
    const wanted = String(words).toLowerCase();
    return JSON.stringify(tickets.filter(({ subject, text }) => `${subject} ${text}`.toLowerCase().includes(wanted)));
  },
);

server.tool(
  {
    name: 'close_ticket',
    description: 'Closes a ticket and tells the customer.',
    input: {
      type: 'object',
      properties: { id: { type: 'string' }, message: { type: 'string' } },
      required: ['id', 'message'],
    },
  },
  ({ id }) => {
    const ticket = tickets.find((each) => each.id === id);
    if (ticket === undefined) throw new ToolError(`There is no ticket ${String(id)}.`);
    ticket.open = false;
    return `Ticket ${ticket.id} is closed.`;
  },
);

// The parent reads the address from the first line, and ends this process by ending its input.
const { url, close } = await serveHttp(server, { port: 0 });
console.log(url);
process.stdin.resume().on('end', () => void close());
