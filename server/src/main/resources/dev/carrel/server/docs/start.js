'use strict';

// The token lives in this page only: nothing is stored, a reload asks again.
document.getElementById('ask').addEventListener('submit', async (event) => {
  event.preventDefault();
  const token = document.getElementById('token').value.trim();
  const headers = { Authorization: `Bearer ${token}` };
  const answer = await fetch('/api/v1/openapi.json', { headers });
  if (!answer.ok) {
    document.getElementById('problem').textContent = (await answer.json()).detail;
    return;
  }
  document.getElementById('ask').classList.add('hidden');
  SwaggerUIBundle({
    spec: await answer.json(),
    dom_id: '#ui',
    deepLinking: true,
    validatorUrl: null,
    requestInterceptor: (request) => {
      request.headers.Authorization = headers.Authorization;
      return request;
    },
  });
});
