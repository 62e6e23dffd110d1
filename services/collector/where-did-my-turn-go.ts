import { secretRules } from '../../shared/secrets/secret-rules.ts';
import { automatedKinds } from './automated.ts';
import { dropReasons } from './drop-reasons.ts';
import { helperPrompts } from './helper-prompts.ts';
import { sessionWays } from './session.ts';
import { laterReasons, skipRules } from './skip-reason.ts';
import { turnRules } from './turn-type.ts';

/** docs/where-did-my-turn-go.md, out of the tables that the collector itself decides by. */
export function whereDidMyTurnGo(): string {
  const automated = automatedKinds.map(({ kind }) => kind).join(', ');
  const named = new Set(helperPrompts.flatMap(({ client }) => client.split(', ')));
  const programs = new Intl.ListFormat('en').format([...named].toSorted());
  return `# Where did my turn go?

Every answer of the served policy ends in exactly one way: in a batch, or with one of the reasons below.
\`clawloop turns list --why\` shows which, \`clawloop audit\` proves from the log that none is missing.
Made from the collector's own tables; the first row that matches decides.

\`clawloop turns withdraw ID\` takes a turn out while it waits for anything but the outcome of its batch.

## Which session is it in?

| \`sessionBy\` | how |
|---|---|
${rows(sessionWays.map(({ by, about }) => [by, about]))}
${row(['new', 'none of these: it begins a session, named after itself'])}

Nothing is matched across access keys. A session that ended and goes on is the same session in a new
epoch. What is said after the end is no evidence for the turn before, so an idle session is given a long
time (\`--idle-ms\`; \`--session-timeout\` where it is settled by reward).

## Main line or side request?

Side requests are answered like any other; they do not train and complete no turn.

| \`rule\` | type | when |
|---|---|---|
${rows(turnRules.map(({ name, type, about }) => [name, type, about]))}

Agent programs put blocks around a person's words (reminders, the state of a workspace, output of commands). They also add
messages and answers of their own to a history. The collector leaves all of that out before it compares requests, and before
anything is judged. It knows the prompts of ${programs}. For any other program, a long instruction that asks for a title or a
summary of the conversation itself counts as a side request.

A program may replace its system text in mid-conversation. If the request continues the main line with the same tools, it stays
main. If the tools changed as well, one request counts as a side request, and the next one is main again.

What the client says of a request (\`X-Session-Id\`, \`X-Turn-Type\`) holds. Where its content tells another session or another
type, the fact has a \`disagreement\` with both, \`turns list\` shows it behind the rule (\`explicit-main: not heartbeat\`), and
\`clawloop_attribution_disagreements_total\` counts it.

## Why was it skipped? (\`turn.skipped\`)

| reason | known | what happened |
|---|---|---|
${rows(skipRules.map(({ reason, about }) => [reason, 'at once', about]))}
${rows(Object.entries(laterReasons).map(([reason, about]) => [reason, 'later', about]))}

A turn that is not skipped stays open until the next user words or tool results are seen in the history of
a later request. Messages that a client writes by itself do not count as such
(${automated}, and tool results that it made up). Explicit feedback does: a turn that has some is complete
when its session ends. In a session that is settled by reward every turn is judged when it ends, by its return
along the conversation tree ([sessions](sessions.md#returns)); there, a reward of 0 trains.

## It was complete. Why did it not train? (\`sample.dropped\`)

| reason | what happened |
|---|---|
${rows(Object.entries(dropReasons))}

### What counts as a secret (\`secret\`)

The answer with its reasoning and the arguments of its tool calls is looked through as soon as it was given, hints when the verdict is reached.
\`rule\` says \`KIND@VERSION\`, the version being that of this table. What was found stands in no fact but the conversation's own.
Secrets are also found behind zero-width characters, Markdown escapes and percent-encoding, and in Base64.
UUIDs, hashes, order numbers and the placeholders of documentation are not secrets. A password without a name beside it is not recognised.

| kind | what |
|---|---|
${rows(secretRules.map(({ kind, about }) => [kind, about]))}

### And otherwise

With the method \`combine\` a hint is enough, whatever the verdict. Any other turn judged 0 waits until its session has an effective sample or ends; a session that would end without
any contributes the one with the largest mean vote (\`--at-least-one\`). A ready sample waits for a full
batch, for the open batch's outcome, or for \`clawloop learning resume\`; \`clawloop learning now\` and
\`--waited-ms\` make a smaller batch.

## It is in a batch

What became of the batch stands in its outcome: \`policy.promoted\` (served, unless its parent was rolled
back meanwhile), \`policy.rejected\` (the gate) or \`policy.update-failed\`. \`clawloop policy list\`
shows them.
`;
}

const row = ([first, ...rest]: readonly string[]) => `| \`${first}\` | ${rest.join(' | ')} |`;
const rows = (all: readonly (readonly string[])[]) => all.map(row).join('\n');
