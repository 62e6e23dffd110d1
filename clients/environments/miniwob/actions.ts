import type { ElementHandle } from 'playwright-core';
import { z } from 'zod';
import { withDeadline } from '../../../shared/lang/async.ts';
import type { FunctionTool } from '../environment.ts';
import type { OpenPage } from './page.ts';

/** Why an action was not carried out, for the policy; undefined: it was. */
type Refusal = string | undefined;

type Tool = {
  readonly definition: FunctionTool;
  readonly carryOut: (given: object, on: OpenPage) => Promise<Refusal>;
};

const ref = z.int().describe('number of the element');

const tools: readonly Tool[] = [
  tool('click', 'Click an element.', z.object({ ref }), async (given, on) => {
    const spot = await reach(on, given.ref);
    if (typeof spot === 'string') return spot;
    await on.page.mouse.click(spot.x, spot.y);
    return undefined;
  }),
  tool(
    'fill',
    'Replace the text of an input. A date is written as 2026-01-31, a time as 09:30.',
    z.object({ ref, text: z.string().max(2_000) }),
    async (given, on) => {
      const form = await on.view.evaluate((view, number) => view.takesText(number), given.ref);
      const spot = await reach(on, given.ref);
      if (typeof spot === 'string') return spot;
      if (form === undefined) return `Element ${given.ref} takes no text.`;
      if (form === 'value') {
        await (await elementOf(on, given.ref))?.fill(given.text, { force: true });
        return undefined;
      }
      await on.page.mouse.click(spot.x, spot.y);
      await on.page.keyboard.press('ControlOrMeta+A');
      await on.page.keyboard.press('Delete');
      await on.page.keyboard.type(given.text);
      return undefined;
    },
  ),
  tool(
    'press',
    'Press a key in the focused element.',
    z.object({ key: z.string().max(40).describe('such as Enter, Tab, ArrowDown, a or Control+A') }),
    (given, on) =>
      on.page.keyboard.press(given.key).then(
        () => undefined,
        (error: Error) => {
          const unknown = /Unknown key.*/.exec(error.message)?.[0];
          if (unknown === undefined) throw error;
          return unknown;
        },
      ),
  ),
  tool(
    'select',
    'Choose an option of a select element.',
    z.object({ ref, option: z.string().describe('its text') }),
    async (given, on) => {
      const element = await elementOf(on, given.ref);
      if (element === undefined) return unknownElement(given.ref);
      const { ref: number, option } = given;
      const indices = await on.view.evaluate((view, wanted) => view.choice(wanted.number, wanted.option), {
        number,
        option,
      });
      if (indices === undefined) return `Element ${number} has no option ${JSON.stringify(option)}.`;
      const chosen = indices.map((index) => ({ index }));
      // A person chooses in a list that the system draws, where no event of the page's can go.
      await element.selectOption(chosen, { force: true });
      return undefined;
    },
  ),
  tool(
    'scroll',
    'Scroll an element.',
    z.object({ ref, direction: z.enum(['up', 'down']) }),
    async (given, on) => {
      const spot = await reach(on, given.ref);
      if (typeof spot === 'string') return spot;
      await on.page.mouse.move(spot.x, spot.y);
      await on.view.evaluate((view, wanted) => view.expectScroll(wanted.ref, wanted.direction), given);
      await on.page.mouse.wheel(0, given.direction === 'down' ? SCROLL_PX : -SCROLL_PX);
      // The browser turns the wheel in another thread: the page's own state follows with the next frame.
      const moved = on.view.evaluate((view) => view.scrolled());
      await withDeadline(moved, SCROLL_LIMIT_MS, () => undefined);
      return undefined;
    },
  ),
  tool('wait', 'Let one second pass.', z.object({}), async () => undefined),
];

/** px per scroll; the pages are 210 px high */
const SCROLL_PX = 100;
/** ms; a page that ignores the wheel does not move */
const SCROLL_LIMIT_MS = 5_000;

export const pageTools: readonly FunctionTool[] = tools.map(({ definition }) => definition);

/**
 * Carries out an action with real events of mouse and keyboard.
 *
 * @throws Error of the browser
 */
export async function carryOut(name: string, given: object, on: OpenPage): Promise<Refusal> {
  const found = tools.find(({ definition }) => definition.function.name === name);
  if (found === undefined) return `There is no tool '${name}'.`;
  return found.carryOut(given, on);
}

function tool<Schema extends z.ZodObject>(
  name: string,
  description: string,
  schema: Schema,
  act: (given: z.output<Schema>, on: OpenPage) => Promise<Refusal>,
): Tool {
  const { $schema: _, ...parameters } = z.toJSONSchema(schema);
  return {
    definition: { type: 'function', function: { name, description, parameters } },
    carryOut: async (given, on) => {
      const parsed = schema.safeParse(given);
      return parsed.success ? act(parsed.data, on) : z.prettifyError(parsed.error);
    },
  };
}

const unknownElement = (number: number): string => `There is no element ${number}.`;

/** Where to click, or why not. */
async function reach({ view }: OpenPage, number: number) {
  const spot = await view.evaluate((seen, wanted) => seen.spot(wanted), number);
  switch (spot) {
    case 'unknown':
      return unknownElement(number);
    case 'hidden':
      return `Element ${number} is not visible.`;
    case 'covered':
      return `Element ${number} is covered by another element.`;
    default:
      return spot;
  }
}

async function elementOf({ view }: OpenPage, number: number): Promise<ElementHandle | undefined> {
  const handle = await view.evaluateHandle((seen, wanted) => seen.element(wanted), number);
  return (handle.asElement() as ElementHandle | null) ?? undefined;
}
