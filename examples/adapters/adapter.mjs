// An adapter in Node, with a small runtime in it; standard library only.
//   rap-conformance runtime --adapter-cmd "node examples/adapters/adapter.mjs {port}"
import { createServer, request as plain } from 'node:http';
import { request as secure } from 'node:https';

// --- the runtime: put yours in its place ------------------------------------------------------------------

const threads = new Map(); // thread id -> { pending, subscriptions: call id -> server, injected }; keep yours on disk

async function check(base, threadId, callId, seconds) {
  const url = `${base.replace(/\/+$/, '')}/tool_call_status`;
  let status, body;
  try {
    ({ status, body } = await post(url, { thread_id: threadId, tool_call_id: callId }, seconds));
  } catch {
    return; // no whole answer: unknown, the call stays
  }
  const gone = status >= 400 && status < 500;
  if (gone || (status >= 200 && status < 300 && !saysAlive(body))) {
    take('pending', threadId, callId, 'Error: the tool server gave this call up');
    take('subscriptions', threadId, callId, 'Error: this subscription is lost', true);
  }
}

// Not fetch: it follows redirects into a GET, and takes a chunked body that was cut for a whole one
// where the server announced `Connection: close`.
function post(url, message, seconds) {
  const send = url.startsWith('https:') ? secure : plain;
  const options = { method: 'POST', headers: { 'Content-Type': 'application/json' }, signal: AbortSignal.timeout(seconds * 1000) };
  return new Promise((resolve, reject) => {
    const sent = send(url, options, async (answer) => {
      try {
        const body = Buffer.concat(await answer.toArray()).toString();
        if (!answer.complete) throw new Error('the body was cut short');
        resolve({ status: answer.statusCode, body });
      } catch (error) {
        reject(error);
      }
    });
    sent.on('error', reject).end(JSON.stringify(message));
  });
}

function saysAlive(body) {
  try {
    const value = JSON.parse(body);
    return value !== null && !Array.isArray(value) && value.alive === true;
  } catch {
    return false;
  }
}

// Puts an outcome into a conversation that waits for it; what is late, repeated or nobody's is dropped.
function take(kind, threadId, callId, text, final = false, opens = false) {
  const thread = threads.get(threadId);
  if (!thread?.[kind].has(callId)) return;
  const base = thread[kind].get(callId);
  const name = kind === 'pending' ? 'tool_result' : 'subscription_event';
  thread.injected.push({ tool_call_id: callId, kind: name, text, final });
  if (final || kind === 'pending') thread[kind].delete(callId);
  if (opens) thread.subscriptions.set(callId, base);
}

function callback(message) {
  const event = message.type === 'subscription_event';
  const call = event ? message.tool_call_id : message.id;
  const texts = [message.group_id, call, message.text].every((value) => typeof value === 'string');
  if (!texts || !['tool_result', 'subscription_event'].includes(message.type)) throw new TypeError('no callback');
  const kind = event ? 'subscriptions' : 'pending';
  take(kind, message.group_id, call, message.text, event && message.final === true, message.subscription === true);
}

// --- the adapter: keep this, and call your runtime from it --------------------------------------------------

const port = Number(process.argv[2]);
const routes = {
  'POST /boot': ({ threads: given, status_timeout: seconds = 10 }) => {
    if (given !== null) threads.clear();
    for (const { thread_id: id, pending, subscriptions } of given ?? []) {
      const servers = (calls) => new Map(calls.map((call) => [call.tool_call_id, call.server_url]));
      threads.set(id, { pending: servers(pending), subscriptions: servers(subscriptions), injected: [] });
    }
    for (const [id, { pending, subscriptions }] of threads) {
      for (const [call, base] of [...pending, ...subscriptions]) {
        if (base !== null) check(base, id, call, seconds); // not awaited: checks run beside everything else
      }
    }
  },
  'GET /state': () => ({
    threads: [...threads].map(([id, { pending, subscriptions, injected }]) => ({
      thread_id: id, pending: [...pending.keys()], subscriptions: [...subscriptions.keys()], injected,
    })),
  }),
  'GET /callback_url': () => ({ callback_url: `http://127.0.0.1:${port}/callback` }),
  'POST /message': () => ({ text: 'I read you.' }),
  'POST /shutdown': () => ({}), // a runtime with a process of its own is stopped here
  'POST /callback': callback,
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
