import { entry, type Family } from './topic.ts';

export const recipes: Family = {
  name: 'recipes',
  asks: [
    'What do I need for {topic}?',
    'How do I make {topic}?',
    'I want to cook {topic}. What do I buy?',
    'What goes into {topic}?',
    'Tell me what I need to make {topic}.',
    'Can you help me make {topic}?',
    'My friends would like {topic}. What should I get?',
    'Which ingredients are in {topic}?',
  ],
  listLeads: ['Here is what you need for {topic}:', 'These things go into {topic}:'],
  proses: [
    'For {topic}, you need {items}.',
    'You can make {topic} with {items}.',
    'Just buy {items}, and you can make {topic}.',
  ],
  remarks: [
    'Taste it before you serve it.',
    'Fresh ingredients work best.',
    'Take your time in the kitchen.',
  ],
  entries: [
    entry('pancakes', 'flour, eggs, milk, butter, a little sugar, a pinch of salt', 'Let the batter rest.'),
    entry(
      'tomato soup',
      'ripe tomatoes, an onion, garlic, vegetable stock, cream, basil',
      'Cook it on a low heat.',
    ),
    entry('a fruit salad', 'apples, bananas, grapes, oranges, lemon juice, honey', 'Serve it cold.'),
    entry(
      'vegetable curry',
      'rice, chickpeas, coconut milk, curry powder, carrots, spinach',
      'It tastes even better the next day.',
    ),
    entry(
      'pizza',
      'yeast dough, tomato sauce, cheese, mushrooms, olives, oregano',
      'Make the oven very hot.',
    ),
    entry(
      'a chocolate cake',
      'cocoa, dark chocolate, flour, eggs, brown sugar, soft butter',
      'Do not open the oven too soon.',
    ),
    entry(
      'an omelette',
      'three eggs, chives, grated cheese, a spoon of milk, black pepper, some ham',
      'Keep the pan at a medium heat.',
    ),
    entry(
      'potato salad',
      'boiled potatoes, pickles, mustard, red onion, mayonnaise, parsley',
      'Leave it in the fridge for an hour.',
    ),
  ],
};

export const meals: Family = {
  name: 'meals',
  asks: [
    'What can I eat for {topic}?',
    'Any ideas for {topic}?',
    'I am hungry. What is good for {topic}?',
    'What would you make for {topic}?',
    'Give me some ideas for {topic}.',
    'I do not know what to eat for {topic}.',
    'What is a nice choice for {topic}?',
  ],
  listLeads: ['Here are ideas for {topic}:', 'These are nice choices for {topic}:'],
  proses: [
    'For {topic}, try {items}.',
    'I like {items} for {topic}.',
    'Nice choices for {topic} are {items}.',
  ],
  remarks: ['Eat slowly and enjoy it.', 'Drink a glass of water with it.', 'Use what you have at home.'],
  entries: [
    entry(
      'a quick breakfast',
      'oatmeal, yogurt with berries, toast with jam, a boiled egg, a banana',
      'It gives you energy for the day.',
    ),
    entry(
      'a light lunch',
      'a green salad, a cheese wrap, lentil soup, a baked potato, rice with beans',
      'It will not make you sleepy.',
    ),
    entry(
      'a cosy dinner',
      'pasta with pesto, a warm stew, roasted vegetables, fish with lemon, a noodle bowl',
      'Light a candle.',
    ),
    entry(
      'a healthy snack',
      'carrot sticks, a handful of nuts, apple slices, rice cakes, hummus',
      'Keep it ready in a box.',
    ),
    entry(
      'a sweet treat',
      'vanilla ice cream, a cookie, warm apple pie, chocolate pudding, a muffin',
      'A small piece is enough.',
    ),
    entry(
      'a meal without meat',
      'bean chili, a veggie burger, cheese dumplings, fried tofu, mushroom risotto',
      'Spices make it rich.',
    ),
    entry(
      'a warm drink',
      'green tea, hot cocoa, coffee with milk, ginger tea, warm apple juice',
      'Blow on it first.',
    ),
  ],
};

export const parties: Family = {
  name: 'parties',
  asks: [
    'How do I plan {topic}?',
    'What do we need for {topic}?',
    'I am planning {topic}. Any ideas?',
    'Help me get ready for {topic}.',
    'What makes {topic} nice?',
    'What should I think of for {topic}?',
    'Please help me with {topic}.',
  ],
  listLeads: ['Here is what makes {topic} nice:', 'These things make {topic} nice:'],
  proses: [
    'For {topic}, think of {items}.',
    'I would get {items} for {topic}.',
    'With {items}, {topic} will go well.',
  ],
  remarks: ['Ask your friends to help.', 'Send the invitations early.', 'Keep the plan simple.'],
  entries: [
    entry(
      'a birthday party',
      'balloons, a cake with candles, music, party hats, small prizes',
      'Take a photo of everyone.',
    ),
    entry(
      'a barbecue',
      'charcoal, sausages, corn on the cob, salads, cold drinks',
      'Light the grill in good time.',
    ),
    entry(
      'a movie night',
      'popcorn, soft cushions, a good film, dim light, soda',
      'Let everyone vote on the film.',
    ),
    entry(
      'a game evening',
      'board games, dice, chips and dip, a big table, a score sheet',
      'Start with an easy game.',
    ),
    entry(
      'a garden party',
      'garden chairs, string lights, iced tea, fresh flowers, a sun shade',
      'Have a plan for rain.',
    ),
    entry(
      'a tea party',
      'a teapot, scones, cucumber sandwiches, nice cups, strawberry jam',
      'Warm the pot first.',
    ),
  ],
};
