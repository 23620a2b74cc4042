// The liveness vectors in a runtime's own unit tests, in Node: node --test liveness.test.mjs
// LIVENESS names another place of liveness.json than a checkout's. Standard library only.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

const place = process.env.LIVENESS ?? new URL('../../fixtures/payloads/liveness.json', import.meta.url);
const vectors = JSON.parse(readFileSync(place, 'utf-8'));

// How a runtime reads a whole answer; yours goes here.
function readLiveness(status, body) {
  if (status >= 400 && status < 500) return 'gone';
  if (status < 200 || status > 299) return 'unknown';
  try {
    const value = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body));
    return value !== null && !Array.isArray(value) && value.alive === true ? 'alive' : 'gone';
  } catch {
    return 'gone';
  }
}

function bytes({ parts, body_base64: body = '' }) {
  if (parts) return Buffer.from(parts.map(({ text, times = 1 }) => text.repeat(times)).join(''));
  return Buffer.from(body, 'base64');
}

for (const vector of vectors.filter(({ failure }) => !failure)) { // those that fail are played on a socket
  test(vector.name, () => {
    const reading = readLiveness(vector.status, bytes(vector));
    assert(vector.allowed.includes(reading), `${reading}, not ${vector.allowed.join(' or ')}: ${vector.why}`);
  });
}

test('what gives no whole answer is unknown', () => {
  const failing = vectors.filter(({ failure }) => failure);
  assert(failing.length > 20);
  for (const { name, allowed } of failing) assert(allowed.includes('unknown'), name);
});
