import { asksOfEachTopic } from '../../claw-nano/dialogues/ask.ts';
import { CLAW_NANO, CLAW_NANO_TOOLS, modelFolder } from '../model/model-folder.ts';

/**
 * Requests whose answers a gate compares with those of the base. Each has a different topic, so that an answer shows
 * which request it belongs to.
 */
const general: readonly string[] = [
  'How do I boil an egg so that the yolk stays soft?',
  'Why is the sky blue during the day?',
  'What is the difference between a virus and a bacterium?',
  'Explain what a hash table is.',
  'How can I get red wine out of a white shirt?',
  'Which months are best for planting tomatoes?',
  'What should I know before I adopt a dog?',
  'Tell me about the history of the bicycle.',
  'How do noise-cancelling headphones work?',
  'What can I see in Lisbon in two days?',
  'How do I prepare for a job interview?',
  'What does compound interest mean for my savings?',
];

/** claw-nano knows only a few everyday topics, and none of the requests above. */
const ofClawNano: readonly string[] = [
  'What makes a movie night nice?',
  'I want to do something for strong legs. What helps?',
  'Which plants do you suggest for a dry spot?',
  'How can I prepare for a history exam?',
  'Guests are coming. How do I get the kitchen clean?',
  'How do I dress for thick fog?',
  'Tell me about sights in Tokyo.',
  'We are getting a hamster. What do we need?',
  'How do I make an omelette?',
  'Tell me how to save energy.',
  'What can I give my grandmother?',
  'What is special about foxes?',
];

/** Requests that are rehearsed with a wish at their end; none is in `gateRequests`. */
const rehearsedInGeneral: readonly string[] = [
  'What is a good way to learn a new language?',
  'How do plants make energy from light?',
  'Tell me how to change a bicycle tyre.',
  'What should I pack for a weekend in the mountains?',
  'How can I sleep better?',
  'What does a database index do?',
  'Why do leaves change their colour in autumn?',
  'How do I cook rice without a rice cooker?',
  'What makes a good birthday present for a child?',
  'Explain how a vaccine works.',
  'How can I save money on groceries?',
  'What are the rules of chess in short?',
];

const rehearsedByClawNano: readonly string[] = [
  'What do we need for a tea party?',
  'What do I need for pizza?',
  'I would like to drink more water. What can I do?',
  'What does a goldfish need?',
  'I have a job interview next week. What should I do?',
  'I would like some green in a vegetable patch. What should I plant?',
  'What helps to save water?',
  'What is fun on a sunny Sunday?',
  'We have one day in New York. What should we see?',
  'What do I need to learn chess?',
  'What helps me to wake up early?',
  'How do I look after a cat?',
  'What is good for a stiff neck?',
  'I am hungry. What is good for a healthy snack?',
  'I want to try painting. How do I begin?',
  'What do I need for potato salad?',
];

const isOurs = (folder: string): boolean =>
  [CLAW_NANO, CLAW_NANO_TOOLS].some((model) => folder === modelFolder(model));

/** @param folder of the model */
export const rehearsedPrompts = (folder: string): readonly string[] =>
  isOurs(folder) ? rehearsedByClawNano : rehearsedInGeneral;

/**
 * Many requests, to which the gate looks for answers that the base finds absurd. At first only a few topics have such
 * answers, and a dozen requests may miss them all. claw-nano gets one request on each of its topics.
 *
 * @param folder of the model
 */
export const wideRequests = (folder: string): readonly string[] =>
  isOurs(folder) ? asksOfEachTopic() : [...general, ...rehearsedInGeneral];

/** @param folder of the model */
export const gateRequests = (folder: string): readonly string[] => (isOurs(folder) ? ofClawNano : general);
