import { until } from './harness/clawloop.ts';

/** One request of the session protocol, or of an API, with a key. */
export type RlClient = {
  readonly post: (
    path: string,
    key: string | undefined,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<RlAnswer>;
  readonly get: (path: string, key?: string) => Promise<RlAnswer>;
  readonly start: (task: string, key?: string, admin?: string) => Promise<Started>;
  /** The id of the answer. */
  readonly chat: (key: string, text?: string) => Promise<string>;
};

export type RlAnswer = {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a body is looked at by the test that asked
  readonly body: any;
};
export type Started = { readonly session_id: string; readonly api_key: string };

/** `url`: the address of serving at each request, since it may have been restarted. */
export function rlClient(url: () => string): RlClient {
  const ask = async (path: string, init: RequestInit): Promise<RlAnswer> => {
    const response = await fetch(`${url()}${path}`, init);
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  };
  const bearer = (key: string | undefined) => (key === undefined ? {} : { authorization: `Bearer ${key}` });
  const post: RlClient['post'] = (path, key, body = {}, headers = {}) =>
    ask(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...bearer(key), ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  /** On a busy machine, the log may get the events of serving's start late. */
  const taken = (request: () => Promise<RlAnswer>): Promise<RlAnswer> =>
    until('the log stores it', async () => {
      const answer = await request();
      return answer.status === 503 ? undefined : answer;
    });
  return {
    post,
    get: (path, key) => ask(path, { headers: bearer(key) }),
    start: async (task, key, admin) => {
      const { status, body } = await taken(() =>
        post('/rl/start_session', admin, { task_id: task, api_key: key }),
      );
      if (status !== 200) throw new Error(`start_session: ${status} ${JSON.stringify(body)}`);
      return body;
    },
    chat: async (key, text = 'hi') => {
      const messages = [{ role: 'user', content: text }];
      const { status, body } = await taken(() =>
        post('/chat/completions', key, { model: 'clawloop', messages }),
      );
      if (status !== 200) throw new Error(`chat: ${status} ${JSON.stringify(body)}`);
      return body.id;
    },
  };
}
