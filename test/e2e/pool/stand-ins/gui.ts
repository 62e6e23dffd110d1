import { randomBytes } from 'node:crypto';
import { type Body, refusal, type StandIn, serve } from './serve.ts';

type Desktop = { readonly actions: string[] };

export type GuiPool = StandIn & {
  /** Desktops that a lease holds. */
  readonly open: () => number;
};

/**
 * Speaks the wire of gui-rl's environment pool. Its desktop has one button at 100, 200: a run scores 1 after a
 * click on it, or, where the task is infeasible, when its last action is FAIL.
 */
export async function guiPool({ room = 4, hasTree = true } = {}): Promise<GuiPool> {
  const leases = new Map<string, Desktop & { isInfeasible: boolean }>();
  const desktopOf = ({ lease_id: id }: Body) => {
    const desktop = leases.get(String(id));
    if (desktop === undefined) throw refusal(500, { ok: false, error: `'Unknown lease_id: ${id}'` });
    return desktop;
  };
  const observe = ({ actions }: Desktop) => ({
    screenshot_b64: 'iVBORw0KGgo=',
    accessibility_tree: hasTree
      ? `<desktop-frame><push-button name="Save" screencoord="(90, 190)" size="(20, 20)" pressed="${actions.length}"/></desktop-frame>`
      : null,
    terminal: null,
    instruction: 'Save it.',
  });
  const standIn = await serve({
    '/allocate': () => {
      if (leases.size >= room)
        throw refusal(500, { ok: false, error: `Pool exhausted: ${leases.size}/${room}` });
      const id = `lease-${randomBytes(8).toString('hex')}`;
      leases.set(id, { actions: [], isInfeasible: false });
      return { lease_id: id, env_id: 'env-1', reused: true };
    },
    '/heartbeat': (body) => {
      desktopOf(body);
      return {};
    },
    '/reset': (body) => {
      const desktop = desktopOf(body);
      const config = body.task_config as { readonly evaluator: { readonly func: string } };
      desktop.actions.length = 0;
      desktop.isInfeasible = config.evaluator.func === 'infeasible';
      return { observation: observe(desktop) };
    },
    '/step': (body) => {
      const desktop = desktopOf(body);
      const action = String(body.action);
      desktop.actions.push(action);
      return { observation: observe(desktop), reward: 0, done: ['DONE', 'FAIL'].includes(action), info: {} };
    },
    '/evaluate': (body) => {
      const { actions, isInfeasible } = desktopOf(body);
      if (isInfeasible) return { score: actions.at(-1) === 'FAIL' ? 1 : 0 };
      return { score: actions.some((action) => action.startsWith('pyautogui.click(100, 200')) ? 1 : 0 };
    },
    '/close': (body) => {
      desktopOf(body); // a second close is an error there
      leases.delete(String(body.lease_id));
      return {};
    },
  });
  return { ...standIn, open: () => leases.size };
}
