import { randomUUID } from 'node:crypto';

export type GatewayClient = {
  /**
   * One call of its protocol. If the answer has two parts, `accepted` and then the outcome, resolves to the outcome.
   */
  readonly call: (method: string, params?: object) => Promise<unknown>;
  readonly close: () => void;
};

type Frame = {
  readonly type: string;
  readonly id?: string;
  readonly ok?: boolean;
  readonly event?: string;
  readonly payload?: { readonly status?: string };
  readonly error?: { readonly message?: string };
};
type Waiting = { readonly resolve: (payload: unknown) => void; readonly reject: (error: Error) => void };

/**
 * A client of OpenClaw's gateway on this machine, by the WebSocket protocol of its own command line (protocol version
 * 4; frames `req`, `res` and `event`).
 *
 * @throws Error if it does not listen (yet)
 */
export async function connectGateway(port: number, token: string): Promise<GatewayClient> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`);
  const waiting = new Map<string, Waiting>();
  const call: GatewayClient['call'] = (method, params = {}) => {
    const id = randomUUID();
    const answer = new Promise<unknown>((resolve, reject) => waiting.set(id, { resolve, reject }));
    socket.send(JSON.stringify({ type: 'req', id, method, params }));
    return answer;
  };
  const challenged = new Promise<void>((resolve) => {
    socket.addEventListener('message', ({ data }) => {
      const frame = JSON.parse(String(data)) as Frame;
      if (frame.event === 'connect.challenge') return resolve();
      const one = frame.id === undefined ? undefined : waiting.get(frame.id);
      if (one === undefined || frame.payload?.status === 'accepted') return;
      waiting.delete(frame.id!);
      if (frame.ok === true) one.resolve(frame.payload);
      else one.reject(new Error(`OpenClaw's gateway: ${frame.error?.message ?? JSON.stringify(frame)}`));
    });
  });
  socket.addEventListener('close', ({ code, reason }) => {
    for (const { reject } of waiting.values())
      reject(new Error(`OpenClaw's gateway hung up: ${code} ${reason}`));
    waiting.clear();
  });
  const closed = new Promise<never>((_, reject) =>
    socket.addEventListener('close', () => reject(new Error("OpenClaw's gateway cannot be reached"))),
  );
  await Promise.race([challenged, closed]);
  await call('connect', {
    minProtocol: 4,
    maxProtocol: 4,
    role: 'operator',
    caps: [],
    scopes: ['operator.admin', 'operator.read', 'operator.write', 'operator.approvals'],
    client: { id: 'gateway-client', version: '1', platform: process.platform, mode: 'backend' },
    auth: { token },
  });
  return { call, close: () => socket.close() };
}
