import { once } from 'node:events';

export type Reply = {
  readonly type: string;
  readonly data: {
    readonly observation?: { readonly [field: string]: unknown };
    readonly reward?: number | null;
    readonly done?: boolean;
    readonly code?: string;
    readonly [field: string]: unknown;
  };
};

/** A session of an OpenEnv server, which sends one reply to each message. */
export type Session = {
  readonly ask: (type: string, data?: object) => Promise<Reply>;
  readonly askRaw: (text: string) => Promise<Reply>;
  /** Calls a tool with a step. */
  readonly call: (tool: string, toolArguments?: object) => Promise<Reply>;
  /** The next message of the server, for messages without a request. */
  readonly heard: () => Promise<Reply>;
  /** The close code of the socket, 1006 for a broken connection. */
  readonly closed: Promise<number>;
  readonly close: () => Promise<void>;
};

/** Opens a session with Node's own WebSocket. */
export async function openSession(url: string, query = ''): Promise<Session> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws${query}`);
  const replies: Reply[] = [];
  let wake = () => {};
  socket.addEventListener('message', ({ data }) => {
    replies.push(JSON.parse(String(data)) as Reply);
    wake();
  });
  const closed = new Promise<number>((resolve) => {
    socket.addEventListener('close', ({ code }) => {
      resolve(code);
      wake();
    });
  });
  await once(socket, 'open');
  const heard = async () => {
    while (replies.length === 0) {
      if (socket.readyState === WebSocket.CLOSED) throw new Error('the socket closed without a reply');
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    return replies.shift()!;
  };
  const askRaw = (text: string) => {
    socket.send(text);
    return heard();
  };
  const ask = (type: string, data?: object) => askRaw(JSON.stringify({ type, data }));
  return {
    ask,
    askRaw,
    call: (tool, toolArguments = {}) =>
      ask('step', { type: 'call_tool', tool_name: tool, arguments: toolArguments }),
    heard,
    closed,
    close: async () => {
      socket.close();
      await closed;
    },
  };
}
