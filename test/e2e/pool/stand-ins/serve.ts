import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Body = Readonly<Record<string, unknown>>;

/** A request that arrived, in the order of arrival. */
export type Call = { readonly path: string; readonly body: Body };

/** Behaviour of a server instead of an answer. */
export type Fault =
  | { readonly kind: 'refuse'; readonly status: number; readonly body: object }
  /** the connection ends before anything is carried out */
  | { readonly kind: 'drop' }
  /** carried out, and then the connection ends */
  | { readonly kind: 'drop-answer' }
  /** carried out when the promise resolves */
  | { readonly kind: 'wait'; readonly until: Promise<unknown> };

/** An error response of a handler. */
export const refusal = (status: number, body: object) =>
  Object.assign(new Error('refused'), { status, body });

export type StandIn = {
  readonly url: string;
  readonly calls: readonly Call[];
  /** Paths of the calls, without signs of life. */
  readonly paths: () => readonly string[];
  readonly count: (path: string) => number;
  /** Decides about each call: `nth` counts the calls of its path from 0. */
  readonly faults: (decide: (call: Call, nth: number) => Fault | undefined) => void;
  /** Resolves when the next call of this path has been answered. */
  readonly answered: (path: string) => Promise<void>;
  /** Ends all connections and stops listening, as a killed process. */
  readonly kill: () => Promise<void>;
};

/** One path of a server: gets the body, returns what is added to `{"ok":true}`, or throws a `refusal`. */
export type Route = (body: Body) => object | Promise<object>;

/** Serves JSON by POST, in the form of OpenClaw-RL's pool servers. */
export async function serve(routes: Readonly<Record<string, Route>>, port = 0): Promise<StandIn> {
  const calls: Call[] = [];
  let decide: (call: Call, nth: number) => Fault | undefined = () => undefined;
  const waiting = new Map<string, (() => void)[]>();
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url!;
    const send = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (path === '/healthz') return send(200, { ok: true });
    let text = '';
    for await (const part of request) text += String(part);
    const call = { path, body: JSON.parse(text) as Body };
    const nth = calls.filter((earlier) => earlier.path === path).length;
    calls.push(call);
    const route = routes[path];
    if (route === undefined) return send(404, { detail: 'Not Found' });
    const fault = decide(call, nth);
    if (fault?.kind === 'drop') return request.socket.destroy();
    if (fault?.kind === 'refuse') return send(fault.status, fault.body);
    if (fault?.kind === 'wait') await fault.until;
    try {
      const answer = await route(call.body);
      if (fault?.kind === 'drop-answer') request.socket.destroy();
      else send(200, { ok: true, ...answer });
    } catch (error) {
      const { status = 500, body = { ok: false, error: String(error) } } = error as Partial<
        ReturnType<typeof refusal>
      >;
      send(status, body);
    }
    for (const wake of waiting.get(path)?.splice(0) ?? []) wake();
    return undefined;
  };
  const server = createServer((request, response) => void handle(request, response).catch(() => {}));
  await new Promise<void>((listening) => server.listen(port, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    paths: () => calls.map(({ path }) => path).filter((path) => path !== '/heartbeat'),
    count: (path) => calls.filter((call) => call.path === path).length,
    faults: (next) => {
      decide = next;
    },
    answered: (path) => new Promise((resolve) => waiting.set(path, [...(waiting.get(path) ?? []), resolve])),
    kill: async () => {
      const closed = new Promise((done) => server.close(done));
      server.closeAllConnections();
      await closed;
    },
  };
}
