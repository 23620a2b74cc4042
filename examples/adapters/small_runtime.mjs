// A runtime so small that it fits beside its adapter: it waits, asks after a boot, and takes callbacks.
// Standard library only. It forgets everything when its process ends, which yours must not.
import { request as plain } from 'node:http';
import { request as secure } from 'node:https';

// thread id -> { pending, subscriptions: call id -> server, injected }
export const threads = new Map();

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

export function callback(message) {
  const event = message.type === 'subscription_event';
  const call = event ? message.tool_call_id : message.id;
  const texts = [message.group_id, call, message.text].every((value) => typeof value === 'string');
  if (!texts || !['tool_result', 'subscription_event'].includes(message.type)) throw new TypeError('no callback');
  const kind = event ? 'subscriptions' : 'pending';
  take(kind, message.group_id, call, message.text, event && message.final === true, message.subscription === true);
}

// Boot: ask about everything that is waited for, all at once, and block nobody.
export function start(seconds) {
  for (const [id, { pending, subscriptions }] of threads) {
    for (const [call, base] of [...pending, ...subscriptions]) {
      if (base !== null) check(base, id, call, seconds); // whoever does not know the server need not ask
    }
  }
}
