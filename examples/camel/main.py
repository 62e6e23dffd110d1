"""CAMEL-AI agents that help people pack, each task in a session of its own with a reward: no lists, please."""

import argparse
import json
import re
import urllib.request

from camel.agents import ChatAgent
from camel.models import ModelFactory
from camel.types import ModelPlatformType
from camel.utils import BaseTokenCounter

arguments = argparse.ArgumentParser(description=__doc__)
arguments.add_argument("--url", default="http://127.0.0.1:8700", help="where ClawLoop serves")
arguments.add_argument("--key", help="an access key, where there are any")
arguments.add_argument("--tasks", type=int, default=8, help="how many trips are packed for")
given = arguments.parse_args()

TRIPS = ["a weekend trip", "a beach holiday", "a camping trip", "a business trip"]
WEATHER = {"Lisbon": "sunny, 19 degrees", "Oslo": "snow, -4 degrees"}


class WordCounter(BaseTokenCounter):
    """CAMEL's own counter fetches a vocabulary of OpenAI's from the network; ClawLoop counts for itself."""

    def count_tokens_from_messages(self, messages):
        return sum(len(str(message.get("content"))) for message in messages) // 4

    def encode(self, text):
        return list(text.encode())

    def decode(self, token_ids):
        return bytes(token_ids).decode()


def post(path, key, **body):
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    request = urllib.request.Request(f"{given.url}{path}", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def get_weather(place: str) -> str:
    """Tells the weather at a place.

    Args:
        place (str): The name of the place.

    Returns:
        str: The weather there.
    """
    return WEATHER.get(place, f"Nothing is known of {place}.")


def is_list(text):
    return re.search(r"^\s*([-*]|\d+\.) ", text, re.MULTILINE) is not None


for task in range(given.tasks):
    session = post("/rl/start_session", given.key, task_id=f"pack-{task}")
    agent = ChatAgent(
        "You help people pack.",
        model=ModelFactory.create(
            model_platform=ModelPlatformType.OPENAI_COMPATIBLE_MODEL,
            model_type="clawloop",
            url=f"{given.url}/v1",
            api_key=session["api_key"],  # of this session alone: its calls need no other mark
            token_counter=WordCounter(),
        ),
        tools=[get_weather],
    )
    answers = [
        agent.step(words).msgs[0].content or ""
        for words in (f"What should I pack for {TRIPS[task % len(TRIPS)]} to Lisbon?", "What else?")
    ]
    # one reward, on the last answer: a share of it goes back to the answers before
    reward = -1 if any(map(is_list, answers)) else 1
    post("/rl/set_reward", session["api_key"], reward=reward)
    ended = post("/rl/end_session", session["api_key"])
    print(f"{session['session_id']}: {ended['interaction_count']} answers, reward {reward}: {answers[0][:60]!r}")
