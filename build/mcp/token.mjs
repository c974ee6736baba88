// Loaded before the conformance suite, which has no way of its own to send a token: whatever it sends gets one.
import { createRequire } from 'node:module';

const require = createRequire(process.cwd() + '/');
const { getGlobalDispatcher, setGlobalDispatcher } = require('undici');
const authorization = 'Bearer ' + process.env.CARREL_TOKEN;

const withToken = (dispatch) => (options, handler) => {
  const headers = options.headers ?? {};
  let added;
  if (Array.isArray(headers)) {
    added = [...headers, 'authorization', authorization];
  } else if (typeof headers[Symbol.iterator] === 'function') {
    added = [...[...headers].flat(), 'authorization', authorization];
  } else {
    added = { ...headers, authorization };
  }
  return dispatch({ ...options, headers: added }, handler);
};

setGlobalDispatcher(getGlobalDispatcher().compose(withToken));
