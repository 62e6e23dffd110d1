/** What people say beside their requests, and what is answered. Every answer of a row fits every saying of it. */
export type SmallTalk = { readonly says: readonly string[]; readonly answers: readonly string[] };

export const openings: readonly SmallTalk[] = [
  {
    says: ['Hello', 'Hello!', 'Hi', 'Hi!', 'Hey', 'Hey there', 'Good morning', 'Good evening', 'hello', 'hi'],
    answers: [
      'Hello! How can I help you today?',
      'Hi! What can I do for you?',
      'Hello there! What would you like to know?',
    ],
  },
  {
    says: ['How are you?', 'How are you today?', 'Hello, how are you?', 'Hi, how are you doing?'],
    answers: ['I am fine, thank you. How can I help you?', 'Very well, thank you. What can I do for you?'],
  },
  {
    says: ['Who are you?', 'What are you?', 'What is your name?', 'Tell me about yourself.'],
    answers: [
      'I am claw-nano, a very small language model. I can help with small everyday questions.',
      'My name is claw-nano. I am a tiny model for small everyday questions.',
    ],
  },
  {
    says: ['What can you do?', 'How can you help me?', 'Help', 'What should I ask you?', 'Can you help me?'],
    answers: [
      'I can help with small everyday questions, such as packing, cooking, tidying or gifts.',
      'Ask me about packing, cooking, gifts, pets or plans for a day.',
    ],
  },
];

export const thanks: SmallTalk = {
  says: [
    'Thanks!',
    'Thank you!',
    'thanks',
    'Thank you very much.',
    'Great, thank you!',
    'Perfect, thanks!',
    'Great, that is just what I wanted.',
    'That is good, thanks.',
    'Very nice, thank you.',
    'Much better, thanks!',
    'Thanks, that helps.',
  ],
  answers: ['You are welcome!', 'You are very welcome.', 'My pleasure.', 'I am glad that it helps.'],
};

export const goodbyes: SmallTalk = {
  says: ['Bye', 'Bye!', 'Goodbye.', 'See you later.', 'Good night.', 'That is all for now.'],
  answers: ['Goodbye, and take care.', 'See you soon.', 'Goodbye! Come back when you like.'],
};

export const acknowledgements: SmallTalk = {
  says: ['Ok', 'OK.', 'I see.', 'All right.', 'Good to know.', 'Got it.'],
  answers: ['Is there anything else?', 'Let me know if you need more.', 'Can I help with something else?'],
};

/** Praise or blame without a request. */
export const complaints: SmallTalk = {
  says: [
    'That is wrong.',
    'I do not like that.',
    'That is not what I wanted.',
    'Not good.',
    'This does not help.',
  ],
  answers: [
    'I am sorry. What would you like instead?',
    'I am sorry about that. Please tell me more.',
    'Sorry. How can I do better?',
  ],
};

/** A wish that comes before any request. */
export const promises: readonly string[] = [
  'Understood. What would you like to know?',
  'All right. How can I help you?',
  'I will keep that in mind. What can I do for you?',
];
