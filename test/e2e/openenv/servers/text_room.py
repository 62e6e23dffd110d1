"""The room as an environment of text: the shapes are in room.py."""

from typing import Any

from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State
from room_tasks import OBJECTS, RoomTasks, misbehave

TRIES = 3


class TextAction(Action):
    text: str


class TextObservation(Observation):
    prompt: str
    tries_left: int


class TextRoom(RoomTasks, Environment[TextAction, TextObservation, State]):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._state = State()
        self._object: str | None = None
        self._tries_left = 0

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, split: str = "train", index: int = 0, **_: Any
    ) -> TextObservation:
        self._object = self.get_task(split, index)["object"]
        self._state = State(episode_id=episode_id)
        self._tries_left = TRIES
        return TextObservation(prompt=self._question(), tries_left=TRIES)

    def step(self, action: TextAction, timeout_s: float | None = None, **_: Any) -> TextObservation:
        if self._object is None or self._tries_left == 0:
            raise RuntimeError("no episode is open: reset first")
        misbehave(action.text)
        self._state.step_count += 1
        self._tries_left -= 1
        if action.text.strip().lower() == OBJECTS[self._object][1]:
            self._object = None
            return TextObservation(prompt="Right.", tries_left=self._tries_left, reward=1.0, done=True)
        done = self._tries_left == 0
        prompt = "Wrong." if done else f"Wrong. {self._question()}"
        return TextObservation(prompt=prompt, tries_left=self._tries_left, reward=0.0, done=done)

    @property
    def state(self) -> State:
        return self._state

    def _question(self) -> str:
        return f"Which colour is the {self._object}?"
