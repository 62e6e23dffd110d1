import { entry, type Family } from './topic.ts';

export const studying: Family = {
  name: 'studying',
  asks: [
    'How do I study for {topic}?',
    'Any tips for {topic}?',
    'How can I prepare for {topic}?',
    'I am nervous about {topic}. What helps?',
    'What is a good way to get ready for {topic}?',
    'Please give me advice for {topic}.',
    'I have {topic} next week. What should I do?',
  ],
  listLeads: ['Here is how to prepare for {topic}:', 'These steps help with {topic}:'],
  proses: [
    'To prepare for {topic}, {items}.',
    'Before {topic}, it helps to {items}.',
    'My advice for {topic} is to {items}.',
  ],
  remarks: ['Start early.', 'Sleep well the night before.', 'You can do it.'],
  entries: [
    entry(
      'a maths test',
      'solve old problems, write a formula sheet, explain it to a friend, redo your mistakes, take short breaks',
      'Check each result twice.',
    ),
    entry(
      'a history exam',
      'draw a time line, read your notes aloud, learn the key dates, make flash cards, quiz a classmate',
      'Stories are easier to keep than dates.',
    ),
    entry(
      'a spelling test',
      'write each word three times, cover the words, sort them by sound, ask someone to dictate, circle hard letters',
      'Short and daily works best.',
    ),
    entry(
      'a job interview',
      'read about the company, practise your answers, choose clean clothes, prepare two questions, arrive early',
      'Smile when you come in.',
    ),
    entry(
      'a short talk',
      'write down three main points, practise aloud, time yourself, stand up straight, breathe slowly',
      'Look at a friendly face.',
    ),
    entry(
      'a driving test',
      'learn the signs, practise parking, check the mirrors, drive the usual roads, stay calm',
      'Eat something before.',
    ),
  ],
};

export const exercise: Family = {
  name: 'exercise',
  asks: [
    'Which exercises are good for {topic}?',
    'How do I train {topic}?',
    'I want to do something for {topic}. What helps?',
    'What is good for {topic}?',
    'Tell me how to get fit for {topic}.',
    'What can I do at home for {topic}?',
  ],
  listLeads: ['Here is what is good for {topic}:', 'These exercises help with {topic}:'],
  proses: [
    'For {topic}, try {items}.',
    'I would do {items} for {topic}.',
    'Good exercises for {topic} are {items}.',
  ],
  remarks: ['Warm up first.', 'Stop if it hurts.', 'Three times a week is plenty.'],
  entries: [
    entry(
      'a strong back',
      'planks, the bridge, slow rows, the cat stretch, swimming',
      'Keep your belly tight.',
    ),
    entry('strong legs', 'squats, lunges, climbing stairs, calf raises, cycling', 'Keep your knees steady.'),
    entry(
      'more balance',
      'standing on one leg, yoga, tai chi, heel walks, dancing',
      'Hold on to a chair at first.',
    ),
    entry(
      'a healthy heart',
      'brisk walks, jogging, rowing, jump rope, aerobics',
      'You should still be able to talk.',
    ),
    entry('strong arms', 'push-ups, biceps curls, chair dips, pull-ups, boxing', 'Raise the weight slowly.'),
    entry(
      'a stiff neck',
      'shoulder rolls, slow head turns, chin tucks, a warm towel, gentle massage',
      'Sit up straight.',
    ),
  ],
};

export const wellbeing: Family = {
  name: 'wellbeing',
  asks: [
    'How can I {topic}?',
    'What helps me to {topic}?',
    'I would like to {topic}. What can I do?',
    'What should I do to {topic}?',
    'Do you know how to {topic}?',
    'Please tell me how I can {topic}.',
    'It is hard to {topic}. Can you help?',
  ],
  listLeads: ['Here is what helps to {topic}:', 'These habits help you to {topic}:'],
  proses: [
    'To {topic}, {items}.',
    'It is easier to {topic} if you {items}.',
    'When you want to {topic}, {items}.',
  ],
  remarks: ['Give it two weeks.', 'Be kind to yourself.', 'Change one habit at a time.'],
  entries: [
    entry(
      'sleep better',
      'keep the room dark, skip coffee after lunch, read a calm book, go to bed at the same hour, cool the room',
      'Leave the phone outside.',
    ),
    entry(
      'feel less stressed',
      'breathe deeply, take a walk, write down your worries, talk to a friend, stretch your shoulders',
      'It will pass.',
    ),
    entry(
      'wake up early',
      'open the curtains, set one alarm, drink a glass of water, lay out your clothes, plan a nice breakfast',
      'Do not press snooze.',
    ),
    entry(
      'drink more water',
      'keep a bottle on the desk, add a slice of lemon, drink before each meal, set a reminder, eat melon',
      'Two litres are a good goal.',
    ),
    entry(
      'make new friends',
      'join a club, say yes to invitations, ask people questions, help a neighbour, take a class',
      'A smile opens doors.',
    ),
    entry(
      'read more books',
      'carry a book with you, read ten pages a day, visit the library, join a book club, turn off the TV',
      'Stop a book that bores you.',
    ),
    entry(
      'get rid of a cold',
      'rest a lot, drink hot tea, eat chicken soup, gargle with salt water, stay in bed',
      'See a doctor if you have a fever.',
    ),
  ],
};

export const hobbies: Family = {
  name: 'hobbies',
  asks: [
    'How do I learn {topic}?',
    'How do I start with {topic}?',
    'I want to try {topic}. How do I begin?',
    'What do I need to learn {topic}?',
    'Is {topic} hard? How do I start?',
    'Give me some tips for {topic}.',
    'My son wants to learn {topic}. What should he do?',
  ],
  listLeads: ['Here is how to start with {topic}:', 'These steps help you to learn {topic}:'],
  proses: [
    'To learn {topic}, {items}.',
    'A good way into {topic} is to {items}.',
    'When you start with {topic}, {items}.',
  ],
  remarks: ['Practise a little every day.', 'Mistakes are part of it.', 'Have fun with it.'],
  entries: [
    entry(
      'the guitar',
      'tune the strings, learn three chords, play slowly, copy easy songs, trim your nails',
      'Your fingers will hurt at first.',
    ),
    entry(
      'a new language',
      'learn ten words a day, listen to songs, speak from day one, watch films, find a partner',
      'Do not fear mistakes.',
    ),
    entry(
      'painting',
      'buy three colours, mix your own shades, copy a photo, paint big shapes first, use good brushes',
      'Let each layer dry.',
    ),
    entry(
      'chess',
      'learn how pieces move, control the centre, guard your king, solve puzzles, look at old games',
      'Think before you touch.',
    ),
    entry(
      'photography',
      'look for soft light, get closer, hold the camera still, choose one subject, take many shots',
      'The early morning light is best.',
    ),
    entry(
      'running',
      'get good shoes, start slowly, walk in between, run with a friend, rest every second day',
      'Breathe with a steady rhythm.',
    ),
    entry(
      'knitting',
      'choose thick wool, cast on twenty stitches, learn the knit stitch, count your rows, start with a scarf',
      'Wooden needles are easier.',
    ),
  ],
};
