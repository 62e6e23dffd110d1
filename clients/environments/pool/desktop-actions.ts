import { z } from 'zod';
import type { FunctionTool } from '../environment.ts';

/** Pixels from the upper left corner, as the accessibility tree has them. */
const Pixels = z.int().min(0).max(20_000);
const Point = { x: Pixels, y: Pixels };

/** One tool of the policy, and what the desktop carries out for its arguments. */
type DesktopAction<Shape extends z.ZodRawShape> = {
  readonly about: string;
  readonly arguments: z.ZodObject<Shape>;
  /** Python source for pyautogui, or one of the desktop's own words */
  readonly code: (given: z.output<z.ZodObject<Shape>>) => string;
};

const action = <Shape extends z.ZodRawShape>(
  about: string,
  shape: Shape,
  code: DesktopAction<Shape>['code'],
): DesktopAction<z.ZodRawShape> => ({
  about,
  arguments: z.strictObject(shape),
  code: code as DesktopAction<z.ZodRawShape>['code'],
});

/** JSON's strings are strings of Python, too. */
const python = (value: string): string => JSON.stringify(value);

/** Every action of a policy. Only a policy's call sends one of them. */
const actions: Readonly<Record<string, DesktopAction<z.ZodRawShape>>> = {
  click: action(
    'Clicks at a point.',
    {
      ...Point,
      button: z.enum(['left', 'right', 'middle']).default('left'),
      clicks: z.int().min(1).max(3).default(1),
    },
    ({ x, y, button, clicks }) =>
      `pyautogui.click(${x}, ${y}, clicks=${clicks}, interval=0.1, button=${python(button)})`,
  ),
  move: action('Moves the pointer.', Point, ({ x, y }) => `pyautogui.moveTo(${x}, ${y})`),
  drag: action(
    'Drags with the left button from one point to another.',
    { fromX: Pixels, fromY: Pixels, toX: Pixels, toY: Pixels },
    ({ fromX, fromY, toX, toY }) =>
      `pyautogui.moveTo(${fromX}, ${fromY})\npyautogui.dragTo(${toX}, ${toY}, duration=0.5, button="left")`,
  ),
  scroll: action(
    'Scrolls at a point: up if the amount is positive, down if it is negative.',
    { ...Point, amount: z.int().min(-100).max(100) },
    ({ x, y, amount }) => `pyautogui.scroll(${amount}, x=${x}, y=${y})`,
  ),
  type: action(
    'Types text at the cursor.',
    {
      text: z
        .string()
        .min(1)
        .max(5_000)
        .regex(/^[\n\t -~]+$/, 'only ASCII characters have keys'),
    },
    ({ text }) => `pyautogui.write(${python(text)}, interval=0.02)`,
  ),
  press: action(
    'Presses keys together, such as ["ctrl", "s"].',
    { keys: z.array(z.string().min(1).max(20)).min(1).max(5) },
    ({ keys }) => `pyautogui.hotkey(${keys.map(python).join(', ')})`,
  ),
  wait: action('Waits for the desktop.', {}, () => 'WAIT'),
  done: action('Ends the task: it is done.', {}, () => 'DONE'),
  fail: action('Ends the task: it cannot be done.', {}, () => 'FAIL'),
};

export const desktopTools: readonly FunctionTool[] = Object.entries(actions).map(
  ([name, { about, arguments: schema }]) => {
    const { $schema: _, ...parameters } = z.toJSONSchema(schema, { io: 'input' });
    return { type: 'function', function: { name, description: about, parameters } };
  },
);

/** The desktop's action for a call, or the reason why the call is invalid. */
export function codeOf(
  name: string,
  given: Readonly<Record<string, unknown>>,
): { readonly code: string } | { readonly refusal: string } {
  const known = Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (known === undefined) return { refusal: `There is no action '${name}'.` };
  const parsed = known.arguments.safeParse(given);
  return parsed.success ? { code: known.code(parsed.data) } : { refusal: z.prettifyError(parsed.error) };
}
