'use strict';

const ask = document.getElementById('ask');
const problem = document.getElementById('problem');
const button = ask.querySelector('button');

// The token lives in this page only: nothing is stored, a reload asks again.
ask.addEventListener('submit', async (event) => {
  event.preventDefault();
  problem.textContent = '';
  button.disabled = true;
  try {
    await show(document.getElementById('token').value.trim());
  } catch (e) {
    problem.textContent = e.message;
  } finally {
    button.disabled = false;
  }
});

async function show(token) {
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new Error('That is no token: it has characters that none has. Copy it from the file again.');
  }
  const headers = { Authorization: `Bearer ${token}` };
  let answer;
  try {
    answer = await fetch('/api/v1/openapi.json', { headers });
  } catch (e) {
    throw new Error(`No answer from the server: ${e.message}. See whether it still runs.`);
  }
  const read = await answer.json().catch(() => null);
  if (!answer.ok || read === null) {
    throw new Error(read?.detail ?? `The answer is not Carrel's (status ${answer.status}). See what stands between.`);
  }
  ask.classList.add('hidden');
  SwaggerUIBundle({
    spec: read,
    dom_id: '#ui',
    deepLinking: true,
    validatorUrl: null,
    requestInterceptor: (request) => {
      request.headers.Authorization = headers.Authorization;
      return request;
    },
  });
}
