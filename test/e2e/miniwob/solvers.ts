/** A line of an observation, such as `[3] input text "Name" value="Ann" focused`. */
type Line = {
  readonly ref: number;
  /** `button`, or `input text` */
  readonly kind: string;
  readonly text: string;
  readonly value: string | undefined;
  readonly states: readonly string[];
};

export type Call = { readonly name: string; readonly arguments: object };

/** Decides the next call from the last observation alone. */
export type Solver = (goal: string, lines: readonly Line[]) => Call;

/** A text in quotation marks, as JSON writes it. */
const QUOTED = String.raw`"(?:[^"\\]|\\.)*"`;
const LINE = new RegExp(
  String.raw`^\[(\d+)\] ([a-z0-9]+(?: [a-z-]+(?= "| value| class|$| checked))?)(?: (${QUOTED}))?(.*)$`,
);

/** The goal and the lines of an observation. */
export function readObservation(text: string): {
  readonly goal: string;
  readonly lines: readonly Line[];
} {
  const [first = '', , ...rest] = text.split('\n');
  const lines = rest.map((line): Line => {
    const [, ref, kind = '', name = '""', more = ''] = LINE.exec(line) ?? [];
    const value = new RegExp(`value=(${QUOTED})`).exec(more)?.[1];
    return {
      ref: Number(ref),
      kind,
      text: JSON.parse(name) as string,
      value: value === undefined ? undefined : (JSON.parse(value) as string),
      states: more.replace(new RegExp(QUOTED, 'g'), '').split(' '),
    };
  });
  return { goal: first.replace('Goal: ', ''), lines };
}

const click = ({ ref }: Line): Call => ({ name: 'click', arguments: { ref } });
const fill = ({ ref }: Line, text: string): Call => ({ name: 'fill', arguments: { ref, text } });

function one(lines: readonly Line[], fits: (line: Line) => boolean): Line {
  const found = lines.find(fits);
  if (found === undefined) throw new Error(`no such line among ${JSON.stringify(lines)}`);
  return found;
}

const button = (lines: readonly Line[], name: string) =>
  one(lines, ({ kind, text }) => kind === 'button' && text === name);
const inputs = (lines: readonly Line[]) => lines.filter(({ kind }) => kind.startsWith('input'));
const part = (goal: string, pattern: RegExp): string => pattern.exec(goal)![1]!;

/** Fills the only input, then clicks Submit. */
function answer(lines: readonly Line[], text: string): Call {
  const [input] = inputs(lines);
  return input!.value === text ? click(button(lines, 'Submit')) : fill(input!, text);
}

const arithmetic: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  x: (a, b) => a * b,
};

/** Solvers by the names of their pages; they get the observations of a policy. */
export const solvers: Readonly<Record<string, Solver>> = {
  'click-test-2': (_, lines) => click(button(lines, 'ONE')),
  'click-button': (goal, lines) => click(button(lines, part(goal, /the "(.*)" button/))),
  'click-link': (goal, lines) => {
    const link = part(goal, /the link "(.*)"/);
    return click(one(lines, ({ kind, text }) => kind === 'span' && text === link));
  },
  'click-option': (goal, lines) => {
    const name = part(goal, /^Select (.*) and click/);
    const option = one(inputs(lines), ({ text }) => text === name);
    return click(option.states.includes('checked') ? button(lines, 'Submit') : option);
  },
  'click-checkboxes': (goal, lines) => {
    const names = part(goal, /^Select (.*) and click/).split(', ');
    const open = inputs(lines).find(
      ({ text, states }) => names.includes(text) && !states.includes('checked'),
    );
    return click(open ?? button(lines, 'Submit'));
  },
  'click-tab-2': (goal, lines) => {
    const name = part(goal, /the link "(.*)"/);
    const link = lines.find(({ kind, text }) => kind === 'span' && text === name);
    if (link !== undefined) return click(link);
    const tabs = lines.filter(({ kind }) => kind === 'a');
    const at = tabs.findIndex(({ states }) => states.includes('selected'));
    return click(tabs[(at + 1) % tabs.length]!);
  },
  'enter-text': (goal, lines) => answer(lines, part(goal, /^Enter "(.*)" into/)),
  'focus-text-2': (goal, lines) => click(inputs(lines)[Number(part(goal, /the (\d)/)) - 1]!),
  'login-user': (goal, lines) => {
    const [user, password] = inputs(lines);
    const secret = part(goal, /password "(.*)" into/);
    const name = part(goal, /username "(.*)" and/);
    if (user!.value !== name) return fill(user!, name);
    if (password!.value!.length !== secret.length) return fill(password!, secret);
    return click(button(lines, 'Login'));
  },
  'choose-list': (goal, lines) => {
    const option = part(goal, /^Select (.*) from the list/);
    const list = one(lines, ({ kind }) => kind === 'select');
    if (list.value === option) return click(button(lines, 'Submit'));
    return { name: 'select', arguments: { ref: list.ref, option } };
  },
  'read-table': (goal, lines) => {
    const key = part(goal, /the value of (.*) into/);
    const cells = lines.filter(({ kind }) => kind === 'td');
    const at = cells.findIndex(({ text }, index) => index % 2 === 0 && text === key);
    return answer(lines, cells[at + 1]!.text);
  },
  'simple-arithmetic': (_, lines) => {
    const problem = one(lines, ({ kind }) => kind === 'div').text;
    const [, a, sign, b] = /(\d+) ([-+x]) (\d+)/.exec(problem)!;
    return answer(lines, String(arithmetic[sign!]!(Number(a), Number(b))));
  },
};
