// An adapter in Node: rap-conformance runtime --adapter-cmd "node adapter.mjs {port}"
import { createServer } from 'node:http';
import { callback, start, threads } from './small_runtime.mjs'; // yours goes here

const port = Number(process.argv[2]);
const routes = {
  'POST /boot': ({ threads: given, status_timeout: seconds = 10 }) => {
    if (given !== null) threads.clear();
    for (const { thread_id: id, pending, subscriptions } of given ?? []) {
      const servers = (calls) => new Map(calls.map((call) => [call.tool_call_id, call.server_url]));
      threads.set(id, { pending: servers(pending), subscriptions: servers(subscriptions), injected: [] });
    }
    start(seconds);
    return { unsupported: ['kill'] }; // this runtime lives in the adapter's process
  },
  'GET /state': () => ({
    threads: [...threads].map(([id, { pending, subscriptions, injected }]) => ({
      thread_id: id, pending: [...pending.keys()], subscriptions: [...subscriptions.keys()], injected,
    })),
  }),
  'GET /callback_url': () => ({ callback_url: `http://127.0.0.1:${port}/callback` }), // one URL serves every call
  'POST /message': () => ({}), // nothing blocks it here
  'POST /shutdown': () => ({}), // a runtime with a process of its own is stopped here
  'POST /callback': callback, // part of the runtime; it stands here because we have a server
};

createServer(async (request, response) => {
  let status = 200, body = {};
  try {
    const chunks = await request.toArray();
    const given = chunks.length ? JSON.parse(Buffer.concat(chunks).toString()) : undefined;
    body = routes[`${request.method} ${request.url.split('?')[0]}`](given) ?? {};
  } catch (error) {
    status = 400;
    body = { error: String(error) };
  }
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}).listen(port, '127.0.0.1');
